// Where rows will be: the page keeps its shape while they are read.

export function SkeletonRows({ count = 8, label = "Loading" }: { count?: number; label?: string }) {
  return (
    <div role="status" aria-label={label}>
      {Array.from({ length: count }, (_, i) => (
        <div key={i} aria-hidden="true" className="flex h-11 items-center gap-6 border-b border-rule">
          <span className="h-3 w-20 rounded-full bg-rule/70" /><span className="h-3 grow rounded-full bg-rule/70" /><span className="h-3 w-16 rounded-full bg-rule/70" />
        </div>
      ))}
    </div>
  );
}
