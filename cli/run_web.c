#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/run_impl.h"

void run_web_announce(int tty, const char *url)
{
	auto_free char *line = mem_printf("sallyport: answers at %s\n", url);

	if (fd_write_all(tty >= 0 ? tty : STDERR_FILENO, line, strlen(line)) < 0)
		log_warn("the address of the page could not be printed");
}
