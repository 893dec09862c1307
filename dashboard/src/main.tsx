// Entry point: signs in, then shows the page of the address.

import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { onSignedOut } from "./data/api";
import { cache } from "./data/cache";
import { begin, currentIdentity, leave } from "./data/identity";
import { router } from "./routes";
import "./ui/theme.css";

onSignedOut(() => {
  if (currentIdentity().stage === "in") leave("You were signed out: the token was revoked or has expired.");
});
// Pasting an address with a token over an open page changes only the fragment.
window.addEventListener("hashchange", () => {
  if (location.hash.startsWith("#token=")) void begin();
});

// The token leaves the address before the router reads it.
void begin();

const app = document.getElementById("app");
if (app !== null) {
  createRoot(app).render(
    <StrictMode>
      <QueryClientProvider client={cache}><RouterProvider router={router} /></QueryClientProvider>
    </StrictMode>,
  );
}
