#include "exec/init/init.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "exec/init/sys.h"

#define PLAN_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static int place(size_t len, int prot, int flags, int fd, void **ret)
{
	long at = sys(mmap, NULL, len, prot, MAP_PRIVATE | flags, fd, 0);

	if (at < 0 && at > -4096)
		return (int)at;
	*ret = (void *)at;
	return 0;
}

static int map_file(int fd, struct map *ret)
{
	struct stat what;
	int r = (int)sys(fstat, fd, &what);

	if (r < 0)
		return r;
	if (what.st_size <= 0 || what.st_size > WIRE_PLAN_MAX ||
	    (sys(fcntl, fd, F_GET_SEALS) & PLAN_SEALS) != PLAN_SEALS)
		return -EBADMSG;
	ret->bytes_len = (size_t)what.st_size;
	r = place(ret->bytes_len, PROT_READ, 0, fd, &ret->bytes);
	if (r < 0)
		return r;
	ret->pointers_len = (read_pointers(ret->bytes, ret->bytes_len) + 1) * sizeof(char *);
	r = place(ret->pointers_len, PROT_READ | PROT_WRITE, MAP_ANONYMOUS, -1, &ret->pointers);
	return r < 0 ? r : read_plan(ret->bytes, ret->bytes_len, ret->pointers, &ret->plan);
}

int map_plan(int fd, struct map *ret)
{
	*ret = (struct map){ .bytes = NULL };
	int r = map_file(fd, ret);

	(void)sys(close, fd);
	return r;
}

void map_drop(struct map *map)
{
	if (map->pointers)
		(void)sys(munmap, map->pointers, map->pointers_len);
	if (map->bytes)
		(void)sys(munmap, map->bytes, map->bytes_len);
}
