/* remotes: what the remotes of a project's repository say about the policy it needs. */
#pragma once

struct project;

/* Adds a line for each host that git reaches over ssh. What it leaves out, it says on standard
 * error. */
void remotes_look(struct project *project);
