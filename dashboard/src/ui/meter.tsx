// A share from 0 to 1 as a bar with its name and figure.

export function Meter({ name, value, tone = "green" }: { name: string; value: number; tone?: "green" | "brass" }) {
  const share = Math.min(1, Math.max(0, value));
  const figure = value.toFixed(2);
  return (
    <span className="grid grid-cols-[4.2rem_minmax(0,1fr)_2rem] items-center gap-2 text-xs text-soft">
      <span>{name}</span>
      <span role="meter" aria-label={name} aria-valuemin={0} aria-valuemax={1} aria-valuenow={share} aria-valuetext={figure} className="h-1.5 overflow-hidden rounded-full bg-rule">
        <span className={`block h-full rounded-full ${tone === "green" ? "bg-green" : "bg-brass-edge"}`} style={{ width: `${share * 100}%` }} />
      </span>
      <span className="text-right tabular-nums">{figure}</span>
    </span>
  );
}
