// Times as people say them, exact on hover, in the zone of whoever looks.
const language = document.documentElement.lang;
const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto" });
const exact = new Intl.DateTimeFormat(language, { dateStyle: "full", timeStyle: "medium" });
const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60]];
const SECONDS_THAT_ARE_NOW = 45;

function spoken(moment) {
  const seconds = (moment - Date.now()) / 1000;
  if (Math.abs(seconds) < SECONDS_THAT_ARE_NOW) return relative.format(0, "second");
  const [unit, size] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? ["minute", 60];
  return relative.format(Math.round(seconds / size), unit);
}

export function tellTimes(within = document) {
  for (const element of within.querySelectorAll("time[datetime]")) {
    const moment = new Date(element.getAttribute("datetime"));
    const words = spoken(moment);
    if (element.textContent !== words) element.textContent = words;
    element.title ||= exact.format(moment);
  }
}

export function startTimes() {
  tellTimes();
  setInterval(tellTimes, 10000);
}
