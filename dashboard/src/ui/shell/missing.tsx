// The page of an address that has none.

import { Link } from "@tanstack/react-router";
import { Title } from "../title";

export function NotFound() {
  return (
    <>
      <Title name="Page not found" />
      <p className="py-6">There is no page at this address. <Link to="/" className="underline">Go to Home</Link></p>
    </>
  );
}
