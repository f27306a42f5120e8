/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cluster/coverage/blocks.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

#ifdef HAVE_CAPSTONE
#include <capstone/capstone.h>

enum { POINTER_PCREL_4 = 0x1b, POINTER_DATAREL_4 = 0x3b, COUNT_4 = 0x03, FUNCTION_MAX = 1 << 20 };

struct library {
	const unsigned char *bytes;
	size_t size;
	const Elf64_Ehdr *head;
	const Elf64_Phdr *segments;
};

/* Bytes of the file at an address; NULL: it has not so many. */
static const unsigned char *at_address(const struct library *l, uint64_t address, uint64_t len)
{
	for (unsigned i = 0; i < l->head->e_phnum; i++) {
		const Elf64_Phdr *p = &l->segments[i];

		if (p->p_type == PT_LOAD && address >= p->p_vaddr && len <= p->p_filesz && address - p->p_vaddr <= p->p_filesz - len &&
			p->p_offset <= l->size && p->p_filesz <= l->size - p->p_offset)
			return l->bytes + p->p_offset + (address - p->p_vaddr);
	}
	return NULL;
}

static int32_t int_at(const unsigned char *p)
{
	int32_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

static const Elf64_Phdr *segment_of(const struct library *l, uint32_t type)
{
	for (unsigned i = 0; i < l->head->e_phnum; i++)
		if (l->segments[i].p_type == type)
			return &l->segments[i];
	return NULL;
}

static bool read_build_id(const struct library *l, struct blocks *out)
{
	for (unsigned i = 0; i < l->head->e_phnum; i++) {
		const Elf64_Phdr *p = &l->segments[i];
		uint64_t at = 0;

		while (p->p_type == PT_NOTE && at + sizeof(Elf64_Nhdr) <= p->p_filesz && p->p_offset + p->p_filesz <= l->size) {
			Elf64_Nhdr note;
			uint64_t id;

			memcpy(&note, l->bytes + p->p_offset + at, sizeof(note));
			id = at + sizeof(note) + ((note.n_namesz + 3) & ~3u);
			if (note.n_type == NT_GNU_BUILD_ID && note.n_descsz * 2 < COVERAGE_ID_SIZE && id + note.n_descsz <= p->p_filesz) {
				for (unsigned b = 0; b < note.n_descsz; b++)
					snprintf(out->build_id + 2 * b, 3, "%02x", l->bytes[p->p_offset + id + b]);
				return true;
			}
			at = id + ((note.n_descsz + 3) & ~3u);
		}
	}
	return false;
}

struct found {
	uint64_t *all;
	size_t count, capacity;
};

static void add_block(struct found *f, uint64_t address)
{
	MEM_RESERVE(f->all, f->count + 1, f->capacity);
	f->all[f->count++] = address;
}

static bool is_conditional(csh cs, const cs_insn *insn)
{
	return cs_insn_group(cs, insn, X86_GRP_JUMP) && insn->id != X86_INS_JMP && insn->id != X86_INS_LJMP;
}

/* Blocks begin at instructions only: where a jump leads between two, the function is not understood and keeps its entry. */
static void add_function(csh cs, cs_insn *insn, const unsigned char *code, uint64_t begin, uint64_t len, struct found *found)
{
	unsigned char *starts = mem_zero(len + 1, 1), *leads = mem_zero(len + 1, 1);
	const uint8_t *at = code;
	size_t left = len;
	uint64_t address = begin;
	bool after_jump = false, understood = true;

	while (cs_disasm_iter(cs, &at, &left, &address, insn)) {
		uint64_t offset = insn->address - begin;

		starts[offset] = 1;
		leads[offset] |= after_jump;
		after_jump = is_conditional(cs, insn);
		if (cs_insn_group(cs, insn, X86_GRP_JUMP) && insn->detail->x86.op_count == 1 && insn->detail->x86.operands[0].type == X86_OP_IMM) {
			uint64_t target = (uint64_t)insn->detail->x86.operands[0].imm;

			if (target >= begin && target < begin + len)
				leads[target - begin] = 1;
		}
	}
	understood = left == 0;
	for (uint64_t i = 0; i < len && understood; i++)
		understood = !leads[i] || starts[i];
	add_block(found, begin);
	for (uint64_t i = 1; i < len && understood; i++)
		if (leads[i])
			add_block(found, begin + i);
	mem_free(starts);
	mem_free(leads);
}

static int by_address(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The table of .eh_frame_hdr leads to each function's entry in .eh_frame, which has its length. */
static bool read_functions(const struct library *l, csh cs, struct blocks *out, struct err *err)
{
	const Elf64_Phdr *table = segment_of(l, PT_GNU_EH_FRAME);
	const unsigned char *hdr = table ? at_address(l, table->p_vaddr, 12) : NULL;
	struct found found = {NULL, 0, 0};
	cs_insn *insn;
	uint32_t count;
	size_t kept = 0;

	if (!hdr || hdr[0] != 1 || hdr[1] != POINTER_PCREL_4 || hdr[2] != COUNT_4 || hdr[3] != POINTER_DATAREL_4)
		return err_set(err, ERR_UNSUPPORTED, "it has no table of functions in the usual form (.eh_frame_hdr)");
	count = (uint32_t)int_at(hdr + 8);
	if (!at_address(l, table->p_vaddr, 12 + (uint64_t)count * 8))
		return err_set(err, ERR_FORMAT, "its table of functions is cut off");
	insn = cs_malloc(cs);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t begin = table->p_vaddr + (uint64_t)(int64_t)int_at(hdr + 12 + 8 * (size_t)i);
		uint64_t entry = table->p_vaddr + (uint64_t)(int64_t)int_at(hdr + 16 + 8 * (size_t)i);
		const unsigned char *fde = at_address(l, entry, 16), *code;
		uint32_t len = fde ? (uint32_t)int_at(fde + 12) : 0;

		code = len && len < FUNCTION_MAX ? at_address(l, begin, len) : NULL;
		/* The entry names its function itself: another form of pointers shows here. */
		if (!code || entry + 8 + (uint64_t)(int64_t)int_at(fde + 8) != begin)
			continue;
		add_function(cs, insn, code, begin, len, &found);
		out->functions++;
	}
	cs_free(insn, 1);
	if (found.count)
		qsort(found.all, found.count, sizeof(found.all[0]), by_address);
	for (size_t i = 0; i < found.count; i++)
		if (!kept || found.all[kept - 1] != found.all[i])
			found.all[kept++] = found.all[i];
	out->addresses = found.all;
	out->count = (uint32_t)kept;
	return (kept && kept <= COVERAGE_BLOCKS_MAX) || err_set(err, ERR_UNSUPPORTED, "no function of it is understood");
}

static bool read_library(const struct library *l, struct blocks *out, struct err *err)
{
	csh cs;
	bool ok;

	if (l->size < sizeof(Elf64_Ehdr) || memcmp(l->head->e_ident, ELFMAG, SELFMAG) != 0 || l->head->e_machine != EM_X86_64 ||
		l->head->e_phoff > l->size || l->head->e_phnum > (l->size - l->head->e_phoff) / sizeof(Elf64_Phdr))
		return err_set(err, ERR_FORMAT, "it is no library for x86-64");
	if (!read_build_id(l, out))
		return err_set(err, ERR_UNSUPPORTED, "it has no build id");
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &cs) != CS_ERR_OK)
		return err_set(err, ERR_LIMIT, "the disassembler does not start");
	cs_option(cs, CS_OPT_DETAIL, CS_OPT_ON);
	ok = read_functions(l, cs, out, err);
	cs_close(&cs);
	return ok;
}

bool blocks_find(struct blocks *out, const char *path, struct err *err)
{
	struct library l = {.bytes = MAP_FAILED};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	bool ok = false;

	*out = (struct blocks){.addresses = NULL};
	if (fd < 0 || fstat(fd, &st) != 0) {
		if (fd >= 0)
			close(fd);
		return err_set_errno(err, errno, "cannot open %s", path);
	}
	l.size = (size_t)st.st_size;
	l.bytes = mmap(NULL, l.size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (l.bytes == MAP_FAILED)
		return err_set_errno(err, errno, "cannot read %s", path);
	l.head = (const Elf64_Ehdr *)(const void *)l.bytes;
	l.segments = (const Elf64_Phdr *)(const void *)(l.bytes + l.head->e_phoff);
	ok = read_library(&l, out, err) || err_prefix(err, "%s", path);
	munmap((void *)(uintptr_t)l.bytes, l.size);
	if (!ok)
		blocks_release(out);
	return ok;
}
#else
bool blocks_find(struct blocks *out, const char *path, struct err *err)
{
	*out = (struct blocks){.addresses = NULL};
	return err_set(err, ERR_UNSUPPORTED, "%s: this isorec was built without a disassembler (libcapstone-dev), so it knows no blocks", path);
}
#endif

void blocks_release(struct blocks *blocks)
{
	mem_free(blocks->addresses);
	*blocks = (struct blocks){.addresses = NULL};
}
