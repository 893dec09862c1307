// The sign-in page, which every address shows until somebody is signed in.

import { type FormEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { enter, signIn, whyNot } from "../../data/identity";
import { Button } from "../button";
import { Brand } from "../icon";

export function SignIn({ complaint: first }: { complaint: string }) {
  const field = useRef<HTMLInputElement>(null);
  const [complaint, setComplaint] = useState(first);
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    document.title = "Sign in · Carrel";
    field.current?.focus();
  }, []);

  async function send(event: FormEvent) {
    event.preventDefault();
    const token = field.current?.value.trim() ?? "";
    if (token === "" || busy) return;
    setBusy(true);
    setComplaint("");
    try {
      await signIn(token);
    } catch (error) {
      setComplaint(whyNot(error));
      field.current?.select();
    }
    setBusy(false);
  }

  return (
    <Card>
      <h1 className="mt-8 text-2xl">Sign in</h1>
      <p className="mt-1.5 mb-6 font-serif text-[1.0625rem] text-soft">Use the owner’s token, or a token that the owner created for you.</p>
      <form onSubmit={send} className="grid gap-2">
        <label htmlFor="token" className="text-sm font-semibold">Token</label>
        <input
          ref={field} id="token" name="token" type="text" autoComplete="off" autoCapitalize="off" spellCheck={false} required
          aria-describedby="token-complaint" aria-invalid={complaint !== ""} className="field font-mono [-webkit-text-security:disc]"
        />
        <p id="token-complaint" role="alert" className="complaint empty:hidden">{complaint}</p>
        <Button type="submit" weight="main" busy={busy} className="mt-1 min-h-10">{busy ? "Signing in…" : "Sign in"}</Button>
      </form>
      <p className="note mt-5 border-t border-rule pt-4">
        The owner’s token is in the file <code>owner_token</code> in the server’s data directory. The server also prints an address that signs you in.
      </p>
    </Card>
  );
}

export function Unreachable({ complaint }: { complaint: string }) {
  return (
    <Card>
      <h1 className="mt-8 text-2xl">Not reachable</h1>
      <p role="alert" className="mt-1.5 mb-6 font-serif text-[1.0625rem] text-soft">{complaint}</p>
      <Button weight="main" onClick={() => void enter()}>Try again</Button>
    </Card>
  );
}

function Card({ children }: { children: ReactNode }) {
  return (
    <main className="grid min-h-dvh place-items-center p-5">
      <div className="leaf w-full max-w-[27rem] p-[clamp(1.5rem,6vw,2.75rem)]"><Brand large />{children}</div>
    </main>
  );
}
