// Buttons: one look for each weight, and one that shows that it is working.

import type { ButtonHTMLAttributes, ReactNode, Ref } from "react";

export type Weight = "main" | "quiet" | "plain" | "bare" | "danger";

type Props = ButtonHTMLAttributes<HTMLButtonElement> & {
  weight?: Weight;
  small?: boolean;
  /** While true the button cannot be pressed; it keeps its place and the focus. */
  busy?: boolean;
  ref?: Ref<HTMLButtonElement>;
  children?: ReactNode;
};

export function Button({ weight = "quiet", small = false, busy = false, className = "", onClick, type = "button", ...rest }: Props) {
  return (
    <button
      {...rest}
      type={type}
      className={`button ${weight} ${small ? "small" : ""} ${className}`}
      aria-disabled={busy || undefined}
      onClick={(event) => (busy ? event.preventDefault() : onClick?.(event))}
    />
  );
}
