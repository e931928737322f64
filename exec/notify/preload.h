/* preload: files for the sandbox, as text that is part of our program (preload/preload.S). */
#pragma once

extern const char preload_node[]; /* preload/node.cjs */
