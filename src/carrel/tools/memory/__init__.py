"""The tools for memory, and whose memory a caller may read. The room `memory` decides; a tool reads its parameters."""
