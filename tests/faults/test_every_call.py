#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""isotrace with its n-th call of a kind failing, for every n: TAP on standard output.

    test_every_call.py ISOTRACE TRACE...

A preloaded library fails the n-th malloc, read, open and others.  Whatever fails, the program must not
crash, must not call it an internal error, and must not say another verdict than without the fault.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scripts"))
import tap  # noqa: E402

ISOTRACE, TRACES = os.path.abspath(sys.argv[1]), [os.path.abspath(p) for p in sys.argv[2:]]
MOST = 60  # of one kind in one run: beyond, every k-th call

LIBRARY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static long counts[16];
static int kind = -2;
static long at;

/* Counted from the program's main() on: what the loader does is not ours. */
static int due(int which)
{
	if (kind == -2) {
		const char *text = getenv("FAIL_KIND");

		kind = -1;
		at = atol(getenv("FAIL_AT") ? getenv("FAIL_AT") : "0");
		kind = text ? atoi(text) : -1;
	}
	return __atomic_add_fetch(&counts[which], 1, __ATOMIC_RELAXED) == at && which == kind;
}

__attribute__((destructor)) static void tell(void)
{
	const char *path = getenv("FAIL_COUNTS");
	FILE *out;

	kind = -1;
	out = path ? fopen(path, "w") : NULL;
	for (int i = 0; out && i < 16; i++)
		fprintf(out, "%ld\n", counts[i]);
	if (out)
		fclose(out);
}

#define REAL(type, name, args) static type(*real) args; if (!real) real = (type(*) args)dlsym(RTLD_NEXT, name)

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
void *malloc(size_t n) { if (due(0)) { errno = ENOMEM; return NULL; } return __libc_malloc(n); }
void *calloc(size_t n, size_t m) { if (due(1)) { errno = ENOMEM; return NULL; } return __libc_calloc(n, m); }
void *realloc(void *p, size_t n) { if (due(2)) { errno = ENOMEM; return NULL; } return __libc_realloc(p, n); }
void *reallocarray(void *p, size_t n, size_t m) { if (due(2)) { errno = ENOMEM; return NULL; } return __libc_realloc(p, n * m); }
ssize_t read(int fd, void *p, size_t n) { REAL(ssize_t, "read", (int, void *, size_t)); if (due(3)) { errno = EIO; return -1; } return real(fd, p, n); }
ssize_t pread64(int fd, void *p, size_t n, off64_t o) { REAL(ssize_t, "pread64", (int, void *, size_t, off64_t)); if (due(4)) { errno = EIO; return -1; } return real(fd, p, n, o); }
ssize_t write(int fd, const void *p, size_t n) { REAL(ssize_t, "write", (int, const void *, size_t)); if (fd != 2 && due(5)) { errno = ENOSPC; return -1; } return real(fd, p, n); }
int open64(const char *path, int flags, ...) { va_list ap; int mode; REAL(int, "open64", (const char *, int, ...)); va_start(ap, flags); mode = va_arg(ap, int); va_end(ap); if (due(6)) { errno = EMFILE; return -1; } return real(path, flags, mode); }
FILE *fopen64(const char *path, const char *how) { REAL(FILE *, "fopen64", (const char *, const char *)); if (due(7)) { errno = EMFILE; return NULL; } return real(path, how); }
int rename(const char *a, const char *b) { REAL(int, "rename", (const char *, const char *)); if (due(8)) { errno = EACCES; return -1; } return real(a, b); }
int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *arg) { REAL(int, "pthread_create", (pthread_t *, const pthread_attr_t *, void *(*)(void *), void *)); if (due(9)) return EAGAIN; return real(t, a, f, arg); }
void *mmap64(void *p, size_t n, int prot, int flags, int fd, off64_t o) { REAL(void *, "mmap64", (void *, size_t, int, int, int, off64_t)); if (due(10)) { errno = ENOMEM; return (void *)-1; } return real(p, n, prot, flags, fd, o); }
int close(int fd) { REAL(int, "close", (int)); if (fd > 2 && due(11)) { real(fd); errno = EIO; return -1; } return real(fd); }
"""
KINDS = ["malloc", "calloc", "realloc", "read", "pread", "write", "open", "fopen", "rename", "pthread_create",
         "mmap", "close"]
FOLDER = tempfile.mkdtemp(prefix="isotrace-faults-")
LOADED = os.path.join(FOLDER, "fail.so")


def run(args, **env):
    return subprocess.run([ISOTRACE, *args], capture_output=True, check=False, timeout=120,
                          env=dict(os.environ, LC_ALL="C", LD_PRELOAD=LOADED, **env))


def verdict(command, done):
    """What must not change: all of standard output, of a run that says that it went well."""
    # Without the locale's tables, characters beyond ASCII are written as escapes.
    return re.sub(rb"\\u\{[0-9a-f]+\}|[^\x00-\x7f]+", b"?", b"".join(done.stdout.split())) if command in ("check", "stats") else b""


def every_call(command, trace):
    out = os.path.join(FOLDER, "out")
    args = [command, *(["-o", out] if command == "report" else []), trace]
    counts_file = os.path.join(FOLDER, "counts")
    good = run(args, FAIL_COUNTS=counts_file)
    with open(counts_file, encoding="ascii") as file:
        counts = [int(line) for line in file]
    runs, bad = 0, []
    for kind, name in enumerate(KINDS):
        step = max(1, counts[kind] // MOST)
        for at in range(1, counts[kind] + 1, step):
            done = run(args, FAIL_KIND=str(kind), FAIL_AT=str(at))
            runs += 1
            if done.returncode < 0 or done.returncode == 5:
                bad.append((name, at, done.returncode, done.stderr[-200:]))
            elif done.returncode == 3:
                pass  # incomplete: it claims nothing, and says so on standard output
            elif done.returncode == good.returncode and verdict(command, done) != verdict(command, good):
                bad.append((name, at, "other output", done.stderr[-200:]))
            elif done.returncode != good.returncode and not done.stderr and name not in ("write", "close"):
                bad.append((name, at, "nothing said", done.returncode))
    print("# %s %s: %d calls failed one by one, %d faults" % (command, os.path.basename(trace), runs, len(bad)))
    assert not bad, bad[:6]


def add(command, trace):
    def function():
        every_call(command, trace)
    function.__doc__ = "%s of %s" % (command, os.path.basename(trace))
    globals()["test_%s_%s" % (command, os.path.basename(trace).replace("-", "_").replace(".", "_"))] = function


if __name__ == "__main__":
    compiler = shutil.which(os.environ.get("CC", "cc").split()[0])
    probe = subprocess.run(["ldd", ISOTRACE], capture_output=True, text=True, check=False).stdout
    if not compiler or "asan" in probe or "tsan" in probe:
        print("1..0 # SKIP no compiler, or a sanitizer that takes the same calls over")
        sys.exit(0)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", LOADED, "-x", "c", "-", "-ldl"], input=LIBRARY, text=True,
                   check=True)
    for one in TRACES:
        for what in ("check", "stats", "show", "report"):
            add(what, one)
    try:
        tap.main(globals())
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
