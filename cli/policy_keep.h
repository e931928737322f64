/* policy_keep: the steps of `sallyport policy` that list, trust and take back. Each takes its
 * own argv and returns the exit status. */
#pragma once

int policy_keep_list(int argc, char **argv);
int policy_keep_undo(int argc, char **argv);
int policy_keep_trust(int argc, char **argv);
