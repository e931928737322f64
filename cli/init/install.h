/* install: puts the lines by which an agent calls sallyport into the agent's own files, and takes
 * them out. */
#pragma once

struct profile;

enum install_mode { INSTALL_ADD, INSTALL_SHOW, INSTALL_REMOVE };

/* Changes all files of @profile, or none if one of them cannot be read; prints what it did. A link
 * is never followed. An exit status. */
int install_agent(const struct profile *profile, enum install_mode mode);
