// Puts datetimes together from drawn parts of their calendar: the line, and month, weekday and hour.

const MONDAY = 3;
const DAY_MILLISECONDS = 86_400_000;
const remainder = (x, n) => ((x % n) + n) % n;

// Months since January 1970 of a day since 1970-01-01, and the first day of such a month.
export function monthOf(day) {
  const date = new Date(day * DAY_MILLISECONDS);
  return (date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth();
}

export function firstDay(month) {
  const date = new Date(0);
  date.setUTCFullYear(1970 + Math.floor(month / 12), remainder(month, 12), 1);
  return date.getTime() / DAY_MILLISECONDS;
}

function hourOf(tick, perDay) {
  return Math.floor((remainder(tick, perDay) * 24) / perDay);
}

// First and last day, inside the bounds, of a step of the line and a month of it.
function daySpan(calendar, line, month, low, high) {
  const first = Math.floor(calendar.lower / calendar.ticks_per_day), last = Math.floor(calendar.upper / calendar.ticks_per_day);
  const begin = monthOf(first), end = monthOf(last);
  if (calendar.line === "day") {
    const day = Math.min(Math.max(first + line, low), high);
    return [day, day];
  }
  let months = begin + (calendar.line === "month" ? line : 12 * line), length = calendar.line === "month" ? 1 : 12;
  if (calendar.line === "year" && month !== null) {
    months += remainder(month - 1 - begin, 12);
    length = 1;
    if (months > end) months -= 12;
  }
  months = Math.max(months, begin);
  return [Math.max(firstDay(months), low), Math.min(firstDay(months + length) - 1, high)];
}

function drawDay(calendar, parts, i, u) {
  let low = Math.floor(calendar.lower / calendar.ticks_per_day), high = Math.floor(calendar.upper / calendar.ticks_per_day);
  if (parts.hour) {
    low += parts.hour[i] < hourOf(calendar.lower, calendar.ticks_per_day) ? 1 : 0;
    high -= parts.hour[i] > hourOf(calendar.upper, calendar.ticks_per_day) ? 1 : 0;
  }
  const line = parts.line[i] - calendar.first_line;
  let [first, last] = daySpan(calendar, line, parts.month ? parts.month[i] : null, low, high);
  if (!parts.weekday) return first + Math.min(Math.trunc(u * (last - first + 1)), last - first);
  first += remainder(parts.weekday[i] - (remainder(first + MONDAY, 7) + 1), 7);
  const weeks = Math.max(Math.floor((last - first) / 7) + 1, 1);
  const day = first + 7 * Math.min(Math.trunc(u * weeks), weeks - 1);
  return day > high ? day - 7 : day;
}

// Ticks with these parts, uniform among those that agree with all and lie inside the bounds.
export function putTogether(calendar, parts, days, times) {
  return Float64Array.from(days, (u, i) => {
    const day = drawDay(calendar, parts, i, u);
    let first = day * calendar.ticks_per_day, last = first + calendar.ticks_per_day - 1;
    if (parts.hour) {
      const hour = calendar.ticks_per_day / 24;
      first += parts.hour[i] * hour;
      last = first + hour - 1;
    }
    first = Math.max(first, calendar.lower);
    last = Math.min(last, calendar.upper);
    const within = Math.max(last - first + 1, 1);
    const tick = first + Math.min(Math.trunc(times[i] * within), within - 1);
    return Math.min(Math.max(tick, calendar.lower), calendar.upper);
  });
}

// The parts of a tick, as they were drawn.
export function takeApart(calendar, tick) {
  const day = Math.floor(tick / calendar.ticks_per_day), first = Math.floor(calendar.lower / calendar.ticks_per_day);
  const months = monthOf(day) - monthOf(first);
  const year = Math.floor(months / 12) + Math.floor(monthOf(first) / 12) + 1970;
  return {
    line: calendar.line === "day" ? day - first : calendar.line === "month" ? months : year,
    month: remainder(monthOf(day), 12) + 1,
    weekday: remainder(day + MONDAY, 7) + 1,
    hour: hourOf(tick, calendar.ticks_per_day),
  };
}
