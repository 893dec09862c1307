// Our few signs, drawn in one weight. They are decoration: what they mean stands beside them or in the control's name.

const PATHS = {
  bell: "M6 17h12M7.5 17v-6a4.5 4.5 0 0 1 9 0v6M12 4v2.5M10.5 20h3",
  menu: "M4 7h16M4 12h16M4 17h16",
  close: "M6 6l12 12M18 6L6 18",
  search: "M11 5a6 6 0 1 1 0 12a6 6 0 0 1 0-12M15.5 15.5L20 20",
  more: "M6 11.4a.6.6 0 1 0 0 1.2.6.6 0 0 0 0-1.2M12 11.4a.6.6 0 1 0 0 1.2.6.6 0 0 0 0-1.2M18 11.4a.6.6 0 1 0 0 1.2.6.6 0 0 0 0-1.2",
  check: "M5 12.5l4.5 4.5L19 7",
  down: "M6 9l6 6 6-6",
  right: "M9 6l6 6-6 6",
  copy: "M9 9h10v11H9zM5 15V4h10",
  pin: "M9 4h6l-1 6 3 3v2H7v-2l3-3zM12 15v5",
  file: "M7 3h7l4 4v14H7zM14 3v4h4",
  plus: "M12 5v14M5 12h14",
  stop: "M7 7h10v10H7z",
  clip: "M8 12.5l5.5-5.5a3 3 0 0 1 4.2 4.2L10 19a4.5 4.5 0 0 1-6.4-6.4L11 5.2",
};

export type IconName = keyof typeof PATHS;

export function Icon({ name, className = "size-[1.15rem]" }: { name: IconName; className?: string }) {
  return (
    <svg viewBox="0 0 24 24" aria-hidden="true" className={`${className} shrink-0 fill-none stroke-current stroke-[1.7] [stroke-linecap:round] [stroke-linejoin:round]`}>
      <path d={PATHS[name]} />
    </svg>
  );
}

/** The logo: a desk walled on three sides, a lamp and an open book. */
export function Brand({ large = false }: { large?: boolean }) {
  return (
    <span className="inline-flex items-center gap-2">
      <svg viewBox="0 0 24 24" aria-hidden="true" className={`${large ? "size-14" : "size-6"} fill-none stroke-[1.8] [stroke-linecap:round] [stroke-linejoin:round]`}>
        <path className="stroke-ink" d="M3.5 20.5v-17h17v17" />
        <path className="stroke-green stroke-[1.5]" d="M12 18.5c-1.6-1.5-3.3-1.8-5-1.6v-4.6c1.7-.2 3.4.1 5 1.6 1.6-1.5 3.3-1.8 5-1.6v4.6c-1.7-.2-3.4.1-5 1.6zM12 14v4.5" />
        <path className="stroke-brass-edge stroke-[2.4]" d="M10 7.5h4" />
      </svg>
      <span className={`pt-[0.15em] font-serif leading-none ${large ? "text-3xl" : "text-xl"}`}>Carrel</span>
    </span>
  );
}
