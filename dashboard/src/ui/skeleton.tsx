// Where a list will be, in about its height, until it is read.

export function Skeleton({ rows = 6 }: { rows?: number }) {
  return (
    <div role="status" aria-label="Loading" className="animate-breathe">
      {Array.from({ length: rows }, (_, i) => (
        <div key={i} className="flex h-11 items-center gap-6 border-b border-rule">
          <span className={`h-3 rounded bg-rule ${["w-1/3", "w-1/2", "w-2/5"][i % 3]}`} /><span className="ml-auto h-3 w-16 rounded bg-rule" />
        </div>
      ))}
    </div>
  );
}
