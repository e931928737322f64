/* preload: files for the sandbox as text in our program (preload/preload.S). */
#pragma once

extern const char preload_node[]; /* preload/node.cjs */
