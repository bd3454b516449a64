/*
 * Makes GCC's unwinder (libgcc_eh.a, built for glibc) usable in a static musl program. tools/musl-std.sh adds this object
 * to the copy of the archive that stands in for libunwind.a.
 *
 * The unwinder asks glibc where the exception tables of an address are (_dl_find_object, there since glibc 2.35). musl has
 * no such function, but the same answer can be had from the program headers.
 */
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

/* The answer, laid out as GCC's unwinder for x86_64 reads it. */
struct object_of_address {
    unsigned long long flags;
    void *begin;
    void *end;
    struct link_map *map;
    void *exception_tables;
    unsigned long long unused[7];
};

struct search {
    uintptr_t address;
    struct object_of_address *answer;
};

static int examine(struct dl_phdr_info *object, size_t size, void *argument)
{
    struct search *search = argument;
    uintptr_t begin = 0, end = 0, tables = 0;

    (void)size;
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        uintptr_t start = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;
        uintptr_t stop = start + object->dlpi_phdr[i].p_memsz;

        switch (object->dlpi_phdr[i].p_type) {
        case PT_GNU_EH_FRAME:
            tables = start;
            break;
        case PT_LOAD:
            if (start <= search->address && search->address < stop) {
                begin = start;
                end = stop;
            }
            break;
        }
    }
    if (begin == 0 || tables == 0)
        return 0; /* the next object */

    *search->answer = (struct object_of_address){
        .begin = (void *)begin,
        .end = (void *)end,
        .exception_tables = (void *)tables,
    };
    return 1;
}

int _dl_find_object(void *address, struct object_of_address *answer)
{
    struct search search = {(uintptr_t)address, answer};

    return dl_iterate_phdr(examine, &search) == 1 ? 0 : -1;
}

/*
 * The unwinder refers to these only weakly, to find out whether the program has threads. In a static program nothing else
 * pulls all of them in, so some would stay null, and the first unwinding would jump to address zero.
 */
__attribute__((used)) static const struct {
    int (*once)(pthread_once_t *, void (*)(void));
    int (*key_create)(pthread_key_t *, void (*)(void *));
    void *(*getspecific)(pthread_key_t);
    int (*setspecific)(pthread_key_t, const void *);
    int (*lock)(pthread_mutex_t *);
    int (*unlock)(pthread_mutex_t *);
} threads = {
    pthread_once,        pthread_key_create, pthread_getspecific,
    pthread_setspecific, pthread_mutex_lock, pthread_mutex_unlock,
};
