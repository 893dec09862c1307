// Cron expressions as people read them, and when they come next. Pure.

const FIELDS: [name: string, least: number, most: number][] = [["minute", 0, 59], ["hour", 0, 23], ["day", 1, 31], ["month", 1, 12], ["weekday", 0, 7]];
const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MINUTE_MS = 60_000;
// A year and a day: what does not come by then hardly comes.
const AHEAD_MINUTES = 527_040;

/** Return what is wrong with an expression; null when nothing is. */
export function complaintOf(cron: string): string | null {
  const fields = cron.trim().split(/\s+/);
  if (fields.length !== 5) return "Five fields: minute, hour, day of the month, month, day of the week.";
  for (const [i, field] of fields.entries()) {
    const [name, least, most] = FIELDS[i] ?? ["", 0, 0];
    if (!/^[\d*,/-]+$/.test(field)) continue;
    const wrong = (field.match(/\d+/g) ?? []).find((digits, n) => !(n > 0 && field.includes("/")) && (Number(digits) < least || Number(digits) > most));
    if (wrong !== undefined) return `${wrong} is not a ${name}: ${least} to ${most}.`;
  }
  return null;
}

/** Return a common expression in words; others as they are. */
export function wordsOf(cron: string): string {
  const [minute = "", hour = "", day = "", month = "", weekday = ""] = cron.trim().split(/\s+/);
  const every = /^\*\/(\d+)$/.exec(minute);
  if (day === "*" && month === "*" && weekday === "*") {
    if (cron.trim() === "* * * * *") return "Every minute";
    if (every && hour === "*") return `Every ${every[1]} minutes`;
    if (/^\d+$/.test(minute) && hour === "*") return `Every hour, at minute ${Number(minute)}`;
  }
  if (!/^\d+$/.test(minute) || !/^\d+$/.test(hour) || month !== "*") return cron;
  const time = `${hour.padStart(2, "0")}:${minute.padStart(2, "0")}`;
  if (day === "*" && weekday === "*") return `Every day at ${time}`;
  if (day === "*" && weekday === "1-5") return `Monday to Friday at ${time}`;
  if (day === "*" && /^[0-7](,[0-7])*$/.test(weekday)) return `${weekday.split(",").map((each) => DAYS[Number(each) % 7]).join(", ")} at ${time}`;
  return weekday === "*" && /^\d+$/.test(day) ? `Day ${day} of every month at ${time}` : cron;
}

/** Return the values that a field means; null for one that is not made of numbers. */
function valuesOf(field: string, least: number, most: number): Set<number> | null {
  const values = new Set<number>();
  for (const part of field.split(",")) {
    const match = /^(\*|\d+(?:-(\d+))?)(?:\/(\d+))?$/.exec(part);
    if (match === null) return null;
    const from = match[1] === "*" ? least : Number.parseInt(match[1] ?? "", 10);
    const to = match[1] === "*" || (match[3] && !match[2]) ? most : Number(match[2] ?? from);
    for (let value = from; value <= to; value += Number(match[3] ?? 1)) values.add(value);
  }
  return values;
}

/** Return the next times of an expression in a time zone, in milliseconds, at most `most`; none when it has names in it. */
export function nextTimes(cron: string, timezone: string, after: number, most: number): number[] {
  const sets = cron.trim().split(/\s+/).map((field, i) => valuesOf(field, FIELDS[i]?.[1] ?? 0, FIELDS[i]?.[2] ?? 0));
  const [minutes, hours, days, months, weekdays] = sets;
  const [, , dayField = "", , weekdayField = ""] = cron.trim().split(/\s+/);
  if (!minutes || !hours || !days || !months || !weekdays) return [];
  if (weekdays.has(7)) weekdays.add(0);
  let clock: Intl.DateTimeFormat;
  try {
    clock = new Intl.DateTimeFormat("en-GB", { timeZone: timezone, hourCycle: "h23", minute: "numeric", hour: "numeric", day: "numeric", month: "numeric", weekday: "long" });
  } catch {
    return [];
  }
  const found: number[] = [];
  let at = (Math.floor(after / MINUTE_MS) + 1) * MINUTE_MS;
  for (const end = after + AHEAD_MINUTES * MINUTE_MS; at < end && found.length < most; at += MINUTE_MS) {
    // Zones differ by quarters of an hour, so within one the minutes can be told without asking the calendar.
    const part = Object.fromEntries(clock.formatToParts(at).map(({ type, value }) => [type, value]));
    const minute = Number(part["minute"]);
    const byDay = days.has(Number(part["day"]));
    const byWeekday = weekdays.has(DAYS.indexOf(part["weekday"] ?? ""));
    // As cron has it: when both are restricted, either is enough.
    const today = dayField !== "*" && weekdayField !== "*" ? byDay || byWeekday : byDay && byWeekday;
    if (today && months.has(Number(part["month"])) && hours.has(Number(part["hour"]))) {
      if (minutes.has(minute)) found.push(at);
    } else {
      at += (59 - minute) * MINUTE_MS;
    }
  }
  return found;
}
