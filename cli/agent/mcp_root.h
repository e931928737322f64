/* mcp_root: may a folder that the client of `sallyport mcp` works in be that of its commands? */
#pragma once

struct err;

/* As check_root() of struct mcp_config; @gate: a struct gate. */
char *mcp_root_check(const char *path, struct err *why, const void *gate);
