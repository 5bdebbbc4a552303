// Calibration: the weights that tilt the vine towards the released tables.

// Prepares a stored calibration: for each partition the group of every interval of its axis, for each table its cells.
export function prepareCalibration(stored, axes) {
  const partitions = stored.partitions.map((part) => ({
    column: part.column,
    count: part.count,
    groups: Int32Array.from(axes[part.column].order, (cell) => part.lookup.data[cell]),
  }));
  const tables = stored.tables.map((table) => {
    const counts = table.parts.map((part) => partitions[part].count);
    const strides = counts.map((_, i) => counts.slice(i + 1).reduce((product, count) => product * count, 1));
    return { parts: table.parts, strides, dual: Float64Array.from(table.dual.data) };
  });
  return { partitions, tables, level: stored.level, ceiling: tables.length ? stored.ceiling : 1 };
}

// Log-weight of every particle, cut at the ceiling, from the interval of each column's uniform.
export function logWeights(calibration, places) {
  const rows = places[0].length, total = new Float64Array(rows);
  if (!calibration.tables.length) return total;
  const codes = calibration.partitions.map(({ column, groups }) => {
    const found = new Uint16Array(rows), at = places[column];
    for (let i = 0; i < rows; i++) found[i] = groups[at[i]];
    return found;
  });
  for (const { parts, strides, dual } of calibration.tables) {
    if (parts.length === 1) {
      const a = codes[parts[0]];
      for (let i = 0; i < rows; i++) total[i] += dual[a[i]];
    } else if (parts.length === 2) {
      const [a, b, stride] = [codes[parts[0]], codes[parts[1]], strides[0]];
      for (let i = 0; i < rows; i++) total[i] += dual[stride * a[i] + b[i]];
    } else {
      for (let i = 0; i < rows; i++) {
        let cell = 0;
        for (let k = 0; k < parts.length; k++) cell += strides[k] * codes[parts[k]][i];
        total[i] += dual[cell];
      }
    }
  }
  const most = Math.log(calibration.ceiling);
  return total.map((log) => Math.min(log - calibration.level, most));
}
