/* run_junit: writes what a run reached as a file of JUnit's form, which CI services show: a test
 * case for each destination, and one for the lock. */
#pragma once

struct bundle_place;
struct run_summary;

/* Writes to @place, which was opened before the command started. Returns an exit status, and prints
 * what is wrong. */
int run_junit_write(const struct bundle_place *place, const struct run_summary *summary);
