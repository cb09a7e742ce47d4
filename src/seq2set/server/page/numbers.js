// Numbers as people read them.

const whole = new Intl.NumberFormat("en");

export const count = (number) => whole.format(number);

/** Say a count with its thing: 1 label, 2 labels. */
export const counted = (number, thing) => `${count(number)} ${thing}${number === 1 ? "" : "s"}`;

/** Say a share in per cent; what is nearly nothing or nearly all is not rounded to it. */
export function percent(share) {
  const rounded = Math.round(100 * share);
  if (rounded === 0 && share > 0) return "<\u202f1\u202f%";
  if (rounded === 100 && share < 1) return ">\u202f99\u202f%";
  return `${rounded}\u202f%`;
}

/** Say a size in bytes. */
export function bytes(size) {
  const units = ["bytes", "KB", "MB", "GB"];
  const step = size < 1 ? 0 : Math.min(Math.floor(Math.log(size) / Math.log(1024)), units.length - 1);
  const value = size / 1024 ** step;
  return `${step && value < 10 ? value.toFixed(1) : count(Math.round(value))} ${units[step]}`;
}
