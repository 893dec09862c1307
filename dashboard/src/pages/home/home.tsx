// Home: what needs me?

import { Title } from "../../ui/title";

export function Home() {
  return <Title name="Home" />;
}
