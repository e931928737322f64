#include "exec/notify/notify_frames.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/types.h>

#include "base/fd.h"
#include "base/frame.h"
#include "exec/notify/intercept.h"
#include "exec/notify/wire_told.h"
#include "seccomp/seccomp_calls.h"

static void put_file(struct frame *frame, const struct exec_program *program)
{
	frame_put_text(frame, program->path);
	frame_put_u64(frame, program->device);
	frame_put_u64(frame, program->inode);
}

static void get_file(struct frame *frame, char *path, size_t size, struct exec_program *ret)
{
	frame_get_text(frame, path, size);
	ret->path = path;
	ret->device = frame_get_u64(frame);
	ret->inode = frame_get_u64(frame);
}

void notify_frames_put_program(struct frame *frame, const struct notify_program *program)
{
	const struct exec_program *by = program->program.interpreter;

	frame_begin(frame, NOTIFY_PROGRAM);
	frame_put_u64(frame, program->id);
	frame_put_u64(frame, program->request);
	frame_put_u32(frame, program->slot);
	frame_put_u32(frame, program->argc);
	put_file(frame, &program->program);
	frame_put_text(frame, program->cwd);
	frame_put_u8(frame, by != NULL);
	if (by)
		put_file(frame, by);
}

int notify_frames_get_program(struct frame *frame, struct notify_frames_room *room,
			      struct notify_program *ret)
{
	*ret = (struct notify_program){ .cwd = room->cwd };
	room->interpreter = (struct exec_program){ 0 };
	ret->id = frame_get_u64(frame);
	ret->request = frame_get_u64(frame);
	ret->slot = frame_get_u32(frame);
	ret->argc = frame_get_u32(frame);
	get_file(frame, room->path, sizeof(room->path), &ret->program);
	frame_get_text(frame, room->cwd, sizeof(room->cwd));
	if (frame_get_u8(frame) != 0) {
		get_file(frame, room->interpreter_path, sizeof(room->interpreter_path),
			 &room->interpreter);
		ret->program.interpreter = &room->interpreter;
	}
	return frame_is_whole(frame) && ret->slot < INTERCEPT_ASKED_MAX ? 0 : -EBADMSG;
}

void notify_frames_put_evidence(struct frame *frame, const struct exec_evidence *evidence)
{
	frame_begin(frame, NOTIFY_EVIDENCE);
	frame_put_u32(frame, evidence->what);
	frame_put_u32(frame, (uint32_t)evidence->pid);
	frame_put_u32(frame, (uint32_t)evidence->error);
	frame_put_text(frame, evidence->call);
	frame_put_text(frame, evidence->path);
	frame_put_text(frame, evidence->program);
}

int notify_frames_get_evidence(struct frame *frame, struct notify_frames_room *room,
			       struct exec_evidence *ret)
{
	uint32_t what = frame_get_u32(frame);

	ret->what = (enum exec_refused)what;
	ret->pid = (int)frame_get_u32(frame);
	ret->error = (int)frame_get_u32(frame);
	frame_get_text(frame, room->call, sizeof(room->call));
	frame_get_text(frame, room->path, sizeof(room->path));
	frame_get_text(frame, room->program, sizeof(room->program));
	ret->program = room->program;
	ret->call = room->call;
	ret->path = room->path;
	return frame_is_whole(frame) && what <= EXEC_REFUSED_NETWORK ? 0 : -EBADMSG;
}

int notify_frames_read_told(int from, struct wire_told *ret, int *ret_pidfd)
{
	size_t head = offsetof(struct wire_told, path), count = 0;
	int fds[FD_PASS_MAX];
	ssize_t n = fd_recv(from, ret, sizeof(*ret), fds, &count);
	auto_close int pidfd = n >= 0 && count > 0 ? fds[0] : -1;

	for (size_t i = 1; n >= 0 && i < count; i++)
		fd_close(fds[i]);
	if (n < 0)
		return n == -EAGAIN || n == -EINTR ? 0 : (int)n;
	if ((size_t)n <= head || ((const char *)ret)[n - 1] != '\0' || count != 1)
		return -EPROTO;
	*ret_pidfd = fd_take(&pidfd);
	return 1;
}

int notify_frames_error(const struct wire_told *told, bool *ret_is_program)
{
	struct seccomp_call call;
	uint64_t args[6];

	memcpy(args, told->request.data.args, sizeof(args));
	seccomp_look_up(told->request.data.nr, args, &call);
	*ret_is_program = told->error == 0 && call.told == SECCOMP_TOLD_PROGRAM;
	if (told->error != 0)
		return told->error;
	if (call.told == SECCOMP_TOLD_CHANGE || call.told == SECCOMP_TOLD_MAKE ||
	    call.told == SECCOMP_TOLD_READ || call.told == SECCOMP_TOLD_END)
		return 0;
	return call.told == SECCOMP_TOLD_DENIAL && call.error != 0 ? call.error : EACCES;
}
