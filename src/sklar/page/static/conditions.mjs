// Conditions on declared columns, as { name, labels } (any of these), { name, low, high } (both included),
// each with `missing` (whether missing values are allowed, too).

export function conditionTest(conditions, table) {
  const tests = conditions.map((condition) => {
    const values = table[condition.name];
    const holds = condition.labels ? labelTest(condition, values) : rangeTest(condition, values);
    return (i) => (values.null[i] ? Boolean(condition.missing) : holds(i));
  });
  return (i) => tests.every((test) => test(i));
}

function labelTest(condition, values) {
  const wanted = new Set(condition.labels.map((label) => (values.labels ? values.labels.indexOf(label) : Number(label))));
  return (i) => wanted.has(values.data[i]);
}

function rangeTest({ low = -Infinity, high = Infinity }, values) {
  return (i) => values.data[i] >= low && values.data[i] <= high;
}
