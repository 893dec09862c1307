// What the address of MCP servers says: which one is open.

import { type Raw, textIn } from "../../data/address";

export type McpSearch = { peek?: string };

export const mcpSearch = (raw: Raw): McpSearch => ({ peek: textIn(raw, "peek") });
