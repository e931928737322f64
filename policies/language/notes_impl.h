/* notes: warnings about files and rules that are valid. */
#pragma once

struct policy;

/* Adds the warnings, when all is read. */
void notes_add(struct policy *policy);
