// SPDX-License-Identifier: GPL-2.0-only
/*
 * replay.c - run a fuzz harness over its committed corpus, as an ordinary test.
 *
 * Each file is given whole, and cut at every length up to CUTS, so that
 * truncation is always covered; at every STEP-th where one run takes long (an odd number, so that
 * fields of all alignments are cut); what campaigns found (the folder found), only whole.
 * A crash or a sanitizer's finding ends the test.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CUTS 4096
#ifndef STEP
#define STEP 1
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t *read_file(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	uint8_t *buf;
	long n;

	if (!f || fseek(f, 0, SEEK_END) || (n = ftell(f)) < 0 || fseek(f, 0, SEEK_SET)) {
		perror(path);
		exit(1);
	}
	buf = malloc(n ? (size_t)n : 1);
	if (!buf || fread(buf, 1, (size_t)n, f) != (size_t)n) {
		perror(path);
		exit(1);
	}
	fclose(f);
	*size = (size_t)n;
	return buf;
}

/* A heap block of just the right size: the sanitizer sees the first byte past it. */
static void run_cut(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		exit(1);
	memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

/* Return: files */
static int run_folder(const char *dir, int is_found)
{
	struct dirent **files;
	char path[8192];
	int i, n, nr = 0;

	n = scandir(dir, &files, NULL, alphasort);
	for (i = 0; i < n; i++) {
		size_t size, cut;
		uint8_t *data;

		snprintf(path, sizeof(path), "%s/%s", dir, files[i]->d_name);
		if (files[i]->d_type == DT_REG && *files[i]->d_name != '.') {
			data = read_file(path, &size);
			run_cut(data, size);
			for (cut = 0; !is_found && cut < size && cut < CUTS; cut += STEP)
				run_cut(data, cut);
			free(data);
			nr++;
			if (!is_found)
				printf("ok %d - %s\n", nr, files[i]->d_name);
		}
		free(files[i]);
	}
	if (n >= 0)
		free(files);
	return nr;
}

int main(int argc, char **argv)
{
	const char *src = getenv("SRC"), *name = strrchr(argv[0], '/');
	char dir[4096], found[4200];
	int nr, nr_found;

	name = name ? name + 1 : argv[0];
	snprintf(dir, sizeof(dir), "%s/tests/fuzz/corpus/%s", src ? src : ".",
		 strncmp(name, "replay_", 7) ? name : name + 7);
	if (argc > 1)
		snprintf(dir, sizeof(dir), "%s", argv[1]);
	nr = run_folder(dir, 0);
	if (!nr) {
		printf("1..1\nnot ok 1 - no corpus in %s\n", dir);
		return 1;
	}
	snprintf(found, sizeof(found), "%s/found", dir);
	nr_found = run_folder(found, 1);
	if (nr_found)
		printf("ok %d - %d inputs that campaigns found\n", ++nr, nr_found);
	printf("1..%d\n", nr);
	return 0;
}
