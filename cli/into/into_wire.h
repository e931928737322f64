/* into_wire: the messages between `sallyport exec --into` and the run that it enters, on the socket
 * RUN.into beside the control socket. Both ends must be the same program. */
#pragma once

#define INTO_TALK_MS  10000 /* for the first message of a client, and for its end after the last */
#define INTO_TERM_MAX 64    /* bytes of TERM */

enum into_frame {
	/* to the run */
	INTO_BEGIN = 1, /* its version, which of 0–2 are terminals, their rows and columns, TERM; +
			   argv, and its 0–2 */
	INTO_SIGNAL,
	/* to the client */
	INTO_BEGUN,
	INTO_PTY,  /* + the master */
	INTO_OVER, /* enum exec_process_end, the status, why; nothing follows */
};
enum { INTO_ARGV, INTO_STDIO, INTO_FDS = INTO_STDIO + 3 };
