#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "cli/audit/store/store_impl.h"

#define DIGEST_MAX 65536 /* bytes; more than a record */

int store_place_read(struct store *store, struct store_place *ret, struct err *why)
{
	auto_statement sqlite3_stmt *statement = NULL;
	int r = store_prepare(store, "SELECT device, inode, at, line, last_at, digest FROM log",
			      &statement, why);

	*ret = (struct store_place){ 0 };
	if (r < 0)
		return r;
	int result = sqlite3_step(statement);

	if (result == SQLITE_DONE)
		return 0;
	if (result != SQLITE_ROW)
		return store_fail(store, result, why);
	const unsigned char *digest = sqlite3_column_text(statement, 5);

	ret->device = sqlite3_column_int64(statement, 0);
	ret->inode = sqlite3_column_int64(statement, 1);
	ret->at = sqlite3_column_int64(statement, 2);
	ret->line = sqlite3_column_int64(statement, 3);
	ret->last_at = sqlite3_column_int64(statement, 4);
	(void)snprintf(ret->digest, sizeof(ret->digest), "%s", digest ? (const char *)digest : "");
	return 0;
}

int store_place_write(struct store *store, const struct store_place *place, struct err *why)
{
	auto_statement sqlite3_stmt *statement = NULL;
	const sqlite3_int64 values[] = { place->device, place->inode, place->at, place->line,
					 place->last_at };
	int r = store_prepare(store, "INSERT INTO log VALUES(?1,?2,?3,?4,?5,?6)", &statement, why);

	if (r == 0)
		r = store_exec(store, "DELETE FROM log", why);
	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		(void)sqlite3_bind_int64(statement, (int)i + 1, values[i]); /* the index is right */
	(void)sqlite3_bind_text(statement, 6, place->digest, -1, SQLITE_STATIC);
	int result = sqlite3_step(statement);

	return result == SQLITE_DONE ? 0 : store_fail(store, result, why);
}

/* At most its last DIGEST_MAX bytes. */
int store_place_digest(int fd, off_t from, off_t to, char ret[DIGEST_TEXT_MAX])
{
	size_t len = to - from > DIGEST_MAX ? DIGEST_MAX
		     : to > from            ? (size_t)(to - from)
					    : 0,
	       held = 0;
	auto_free char *bytes = mem_new(len + 1);

	while (held < len) {
		ssize_t n = pread(fd, bytes + held, len - held, to - (off_t)(len - held));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EBADMSG;
		held += (size_t)n;
	}
	return digest_text(bytes, len, "", 0, ret);
}

bool store_place_is_same(const struct store_place *place, int fd, const struct stat *info)
{
	char digest[DIGEST_TEXT_MAX];

	return place->device == (int64_t)info->st_dev && place->inode == (int64_t)info->st_ino &&
	       place->at <= info->st_size &&
	       store_place_digest(fd, place->last_at, place->at, digest) == 0 &&
	       strcmp(digest, place->digest) == 0;
}
