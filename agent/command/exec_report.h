/* exec_report: reports to the client, and to the orchestrator, what an exec does while it runs: its
 * output, and what the network allowed or denied to it. */
#pragma once

struct exec_output;
struct gateway_exec_event;
struct task_exec;

void exec_report_output(struct task_exec *exec, const struct exec_output *output);
/* The client reads again: the command's output may be read again. */
void exec_report_consume(struct task_exec *exec);
/* No output follows: reports the bytes that waited for the rest of a character. */
void exec_report_rest(struct task_exec *exec);
void exec_report_network(struct task_exec *exec, const struct gateway_exec_event *event);
