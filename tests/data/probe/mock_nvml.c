/* A stand-in for NVIDIA's management library: answers as drivers were seen to answer. Built once per case by
   tests/core/hardware/nvml.rs with -DCASE_<NAME>; struct layouts are those of nvml.h (driver branch 580). */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef int ret;
enum { OK = 0, INVALID = 2, UNSUPPORTED = 3, FORBIDDEN = 4, NOT_FOUND = 6, TOO_SMALL = 7, NOT_LOADED = 9, LOST = 15,
       MISMATCH = 18, BAD_VERSION = 25 };
#define MIB 1048576ULL
#define NOT_AVAILABLE UINT64_MAX

typedef struct { char short_id[16]; unsigned domain, bus, device, pci_id, subsystem; char bus_id[32]; } pci_info;
typedef struct { uint64_t total, free, used; } memory_v1;
typedef struct { unsigned version; uint64_t total, reserved, free, used; } memory_v2;
typedef struct { unsigned pid; uint64_t memory; unsigned gi, ci; } process;
typedef struct { unsigned version, value; } addressing;

/* One device: what it says of itself. A zero capability or bus width means "not supported". */
typedef struct {
    const char *name, *uuid, *bus_id;
    unsigned pci_id;
    uint64_t total, reserved, used;
    int major, minor, bits, mhz, mig, display;
    unsigned architecture, max_width, width;
} device;

static device cards[] = {
#if defined CASE_TWO_4090
    {"NVIDIA GeForce RTX 4090", "GPU-4090aaaa-0000-0000-0000-000000000001", "00000000:01:00.0", 0x268410DE,
     24564 * MIB, 482 * MIB, 1000 * MIB, 8, 9, 384, 10501, 0, 1, 8, 16, 16},
    {"NVIDIA GeForce RTX 4090", "GPU-4090bbbb-0000-0000-0000-000000000002", "00000000:41:00.0", 0x268410DE,
     24564 * MIB, 482 * MIB, 4 * MIB, 8, 9, 384, 10501, 0, 0, 8, 16, 4},
#elif defined CASE_GB10
    {"NVIDIA GB10", "GPU-00000010-0000-0000-0000-000000000001", "0000000F:01:00.0", 0x2E1210DE, 0, 0, 0, 12, 1, 0, 0, 0,
     0, 10, 0, 0},
#elif defined CASE_N1X
    {"NVIDIA N1X", "GPU-0000001c-0000-0000-0000-000000000001", "00000000:01:00.0", 0x31C010DE, 8128 * MIB, 0, 600 * MIB,
     12, 1, 0, 0, 0, 1, 10, 0, 0},
#elif defined CASE_JETSON
    {"Orin (nvgpu)", "0ab1c2d3-0000-0000-0000-000000000001", "", 0, 0, 0, 0, 8, 7, 0, 0, 0, 0, 7, 0, 0},
#elif defined CASE_MIG
    {"NVIDIA A100-SXM4-80GB", "GPU-0a100000-0000-0000-0000-000000000001", "00000000:07:00.0", 0x20B210DE,
     81920 * MIB, 769 * MIB, 90 * MIB, 8, 0, 5120, 1593, 1, 0, 7, 16, 16},
#elif defined CASE_WDDM
    {"NVIDIA GeForce RTX 4070 Ti SUPER", "GPU-4070aaaa-0000-0000-0000-000000000001", "00000000:01:00.0", 0x270510DE,
     16376 * MIB, 235 * MIB, 1824 * MIB, 8, 9, 256, 10501, 0, 1, 8, 16, 16},
#elif defined CASE_LOST
    {"NVIDIA GeForce RTX 3090", "GPU-3090aaaa-0000-0000-0000-000000000001", "00000000:01:00.0", 0x220410DE,
     24576 * MIB, 451 * MIB, 20 * MIB, 8, 6, 384, 9751, 0, 0, 7, 16, 16},
    {NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {"NVIDIA GeForce RTX 3090", "GPU-3090cccc-0000-0000-0000-000000000003", "00000000:03:00.0", 0x220410DE,
     24576 * MIB, 451 * MIB, 20 * MIB, 8, 6, 384, 9751, 0, 0, 7, 16, 16},
#elif defined CASE_FUTURE
    {"NVIDIA RTX 7090", "GPU-70900000-0000-0000-0000-000000000001", "00000000:01:00.0", 0x3F0010DE,
     49000 * MIB, 700 * MIB, 0, 14, 0, 512, 16000, 0, 0, 11, 16, 16},
#elif defined CASE_NOT_AVAILABLE
    {"NVIDIA Graphics Device", "GPU-0000000a-0000-0000-0000-000000000001", "00000000:01:00.0", 0x268410DE,
     NOT_AVAILABLE, 0, NOT_AVAILABLE, 8, 9, 384, 10501, 0, 0, 8, 16, 16},
#elif defined CASE_GRACE
    {"NVIDIA GH200 480GB", "GPU-00000200-0000-0000-0000-000000000001", "00000009:01:00.0", 0x234210DE,
     97871 * MIB, 600 * MIB, 400 * MIB, 9, 0, 6144, 2619, 0, 0, 9, 16, 16},
#elif defined CASE_OLD_DRIVER
    {"GeForce GTX 1080", "GPU-10800000-0000-0000-0000-000000000001", "00000000:01:00.0", 0x1B8010DE,
     8113 * MIB, 0, 500 * MIB, 6, 1, 256, 5005, 0, 0, 4, 16, 16},
#else
    {NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
#endif
};

static device instances[] = {
    {"NVIDIA A100-SXM4-80GB MIG 3g.40gb", "MIG-11111111-0000-0000-0000-000000000001", "00000000:07:00.0", 0x20B210DE,
     40192 * MIB, 0, 37 * MIB, 8, 0, 0, 0, 0, 0, 7, 16, 16},
    {"NVIDIA A100-SXM4-80GB MIG 1g.10gb", "MIG-22222222-0000-0000-0000-000000000002", "00000000:07:00.0", 0x20B210DE,
     9728 * MIB, 0, 13 * MIB, 8, 0, 0, 0, 0, 0, 7, 16, 16},
};

#if defined CASE_ZERO || defined CASE_NOT_LOADED || defined CASE_MISMATCH || defined CASE_FORBIDDEN
#define COUNT 0
#else
#define COUNT ((unsigned)(sizeof cards / sizeof *cards))
#endif

static ret text(char *to, unsigned length, const char *from) {
    if (!from || !*from) return UNSUPPORTED;
    snprintf(to, length, "%s", from);
    return OK;
}

ret nvmlInit_v2(void) {
#if defined CASE_NOT_LOADED
    return NOT_LOADED;
#elif defined CASE_MISMATCH
    return MISMATCH;
#elif defined CASE_FORBIDDEN
    return FORBIDDEN;
#else
    return OK;
#endif
}
ret nvmlShutdown(void) { return OK; }
ret nvmlSystemGetDriverVersion(char *to, unsigned length) {
#if defined CASE_OLD_DRIVER
    return text(to, length, "470.256.02");
#else
    return text(to, length, "580.142");
#endif
}
ret nvmlSystemGetNVMLVersion(char *to, unsigned length) { return text(to, length, "13.580.142"); }
ret nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = 13000; return OK; }
ret nvmlDeviceGetCount_v2(unsigned *count) { *count = COUNT; return OK; }
ret nvmlDeviceGetHandleByIndex_v2(unsigned index, device **found) {
    if (index >= COUNT) return INVALID;
    if (!cards[index].name) return LOST;
    *found = &cards[index];
    return OK;
}
ret nvmlDeviceGetHandleByUUID(const char *uuid, device **found) {
    for (unsigned i = 0; i < COUNT; i++)
        if (cards[i].uuid && !strcmp(cards[i].uuid, uuid)) { *found = &cards[i]; return OK; }
    return NOT_FOUND;
}
ret nvmlDeviceGetName(device *card, char *to, unsigned length) { return text(to, length, card->name); }
ret nvmlDeviceGetUUID(device *card, char *to, unsigned length) { return text(to, length, card->uuid); }
ret nvmlDeviceGetPciInfo_v3(device *card, pci_info *info) {
    if (!*card->bus_id) return UNSUPPORTED;
    memset(info, 0, sizeof *info);
    snprintf(info->bus_id, sizeof info->bus_id, "%s", card->bus_id);
    info->pci_id = card->pci_id;
    return OK;
}
#if !defined CASE_OLD_DRIVER
ret nvmlDeviceGetMemoryInfo_v2(device *card, memory_v2 *memory) {
    if (memory->version != (sizeof *memory | 2u << 24)) return BAD_VERSION;
    if (!card->total) return UNSUPPORTED;
    memory->total = card->total;
    memory->reserved = card->reserved;
    memory->used = card->used;
    memory->free = card->total - card->reserved - card->used;
    return OK;
}
#endif
ret nvmlDeviceGetMemoryInfo(device *card, memory_v1 *memory) {
    if (!card->total) return UNSUPPORTED;
    memory->total = card->total;
    memory->used = card->used + card->reserved;
    memory->free = card->total - memory->used;
    return OK;
}
ret nvmlDeviceGetCudaComputeCapability(device *card, int *major, int *minor) {
    *major = card->major;
    *minor = card->minor;
    return card->major ? OK : UNSUPPORTED;
}
ret nvmlDeviceGetArchitecture(device *card, unsigned *value) { *value = card->architecture; return OK; }
ret nvmlDeviceGetMemoryBusWidth(device *card, unsigned *bits) { *bits = card->bits; return card->bits ? OK : UNSUPPORTED; }
ret nvmlDeviceGetMaxClockInfo(device *card, int kind, unsigned *mhz) {
    (void)kind;
    *mhz = card->mhz;
    return card->mhz ? OK : UNSUPPORTED;
}
ret nvmlDeviceGetMaxPcieLinkGeneration(device *card, unsigned *value) { *value = 4; return card->max_width ? OK : UNSUPPORTED; }
ret nvmlDeviceGetMaxPcieLinkWidth(device *card, unsigned *value) { *value = card->max_width; return card->max_width ? OK : UNSUPPORTED; }
ret nvmlDeviceGetCurrPcieLinkGeneration(device *card, unsigned *value) { *value = 1; return card->width ? OK : UNSUPPORTED; }
ret nvmlDeviceGetCurrPcieLinkWidth(device *card, unsigned *value) { *value = card->width; return card->width ? OK : UNSUPPORTED; }
ret nvmlDeviceGetDisplayActive(device *card, int *active) { *active = card->display; return OK; }
/* Only coherent cards are memory nodes. */
ret nvmlDeviceGetNumaNodeId(device *card, unsigned *node) {
    *node = 1;
    return strstr(card->name, "GH200") ? OK : UNSUPPORTED;
}
ret nvmlDeviceGetEccMode(device *card, int *current, int *pending) {
    (void)card;
    *current = *pending = 0;
    return UNSUPPORTED;
}

static ret fill(unsigned *count, process *to, const process *from, unsigned have) {
    if (*count < have) { *count = have; return TOO_SMALL; }
    memcpy(to, from, have * sizeof *from);
    *count = have;
    return OK;
}
ret nvmlDeviceGetComputeRunningProcesses_v3(device *card, unsigned *count, process *to) {
    (void)card;
#if defined CASE_TWO_4090
    if (card != &cards[0]) { *count = 0; return OK; }
    const process list[] = {{4242, 900 * MIB, UINT32_MAX, UINT32_MAX}};
    return fill(count, to, list, 1);
#elif defined CASE_WDDM
    const process list[] = {{1234, NOT_AVAILABLE, UINT32_MAX, UINT32_MAX}, {1240, NOT_AVAILABLE, UINT32_MAX, UINT32_MAX}};
    return fill(count, to, list, 2);
#else
    (void)to;
    *count = 0;
    return OK;
#endif
}
ret nvmlDeviceGetGraphicsRunningProcesses_v3(device *card, unsigned *count, process *to) {
#if defined CASE_TWO_4090
    if (card != &cards[0]) { *count = 0; return OK; }
    const process list[] = {{4242, 900 * MIB, UINT32_MAX, UINT32_MAX}, {77, 80 * MIB, UINT32_MAX, UINT32_MAX}};
    return fill(count, to, list, 2);
#else
    (void)card;
    (void)to;
    *count = 0;
    return OK;
#endif
}

ret nvmlDeviceGetMigMode(device *card, unsigned *current, unsigned *pending) {
    *current = *pending = (unsigned)card->mig;
    return card->mig ? OK : UNSUPPORTED;
}
/* The most there can be, not what there is; numbers 0, 2, 3, 5 and 6 are holes. */
ret nvmlDeviceGetMaxMigDeviceCount(device *card, unsigned *count) { (void)card; *count = 7; return OK; }
ret nvmlDeviceGetMigDeviceHandleByIndex(device *card, unsigned index, device **found) {
    (void)card;
    if (index != 1 && index != 4) return NOT_FOUND;
    *found = &instances[index == 1 ? 0 : 1];
    return OK;
}
