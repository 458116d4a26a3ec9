// SPDX-License-Identifier: Apache-2.0
// The binary interface between NVTX 3 and a tool that is injected into it: tables of function slots that the tool fills.
// Own declarations; names follow NVTX's documentation.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fourwalls::collect::module::nvtx {

using FunctionPointer = void (*)();
using FunctionTable = FunctionPointer**; ///< slots: pointers to the pointers that NVTX calls through

enum : std::uint32_t { kTableCallbacks = 1, kTableVersion = 3 };
enum CallbackModule : int { kModuleCore = 1, kModuleCore2 = 5 };

enum CoreSlot : std::size_t {
    kMarkEx = 1,
    kMarkA = 2,
    kMarkW = 3,
    kRangeStartEx = 4,
    kRangeStartA = 5,
    kRangeStartW = 6,
    kRangeEnd = 7,
    kRangePushEx = 8,
    kRangePushA = 9,
    kRangePushW = 10,
    kRangePop = 11,
    kNameCategoryA = 12,
    kNameCategoryW = 13,
    kNameThreadA = 14,
    kNameThreadW = 15,
};
enum Core2Slot : std::size_t {
    kDomainMarkEx = 1,
    kDomainRangeStartEx = 2,
    kDomainRangeEnd = 3,
    kDomainRangePushEx = 4,
    kDomainRangePop = 5,
    kDomainResourceCreate = 6,
    kDomainResourceDestroy = 7,
    kDomainNameCategoryA = 8,
    kDomainNameCategoryW = 9,
    kDomainRegisterStringA = 10,
    kDomainRegisterStringW = 11,
    kDomainCreateA = 12,
    kDomainCreateW = 13,
    kDomainDestroy = 14,
    kInitialize = 15,
};

struct ExportCallbacks {
    std::size_t structSize;
    int (*getModuleFunctionTable)(CallbackModule module, FunctionTable* table, unsigned* size);
};
using GetExportTable = const void* (*)(std::uint32_t table);

enum MessageType : std::int32_t { kMessageNone = 0, kMessageAscii = 1, kMessageUnicode = 2, kMessageRegistered = 3 };
enum PayloadType : std::int32_t {
    kPayloadU64 = 1,
    kPayloadI64 = 2,
    kPayloadDouble = 3,
    kPayloadU32 = 4,
    kPayloadI32 = 5,
    kPayloadFloat = 6,
};
inline constexpr auto kPayloadExtended = static_cast<std::int32_t>(0xDFBD0009);

struct EventAttributes {
    std::uint16_t version;
    std::uint16_t size;
    std::uint32_t category;
    std::int32_t colorType; ///< 1: color is ARGB
    std::uint32_t color;
    std::int32_t payloadType;
    std::int32_t payloadCount; ///< of an extended payload
    union {
        std::uint64_t u64;
        double real;
        std::uint32_t u32;
        std::int32_t i32;
        float single;
    } payload;
    std::int32_t messageType;
    union {
        const char* ascii;
        const wchar_t* unicode;
        const void* registered;
    } message;
};
static_assert(sizeof(EventAttributes) == 48);

// ---- The payload extension -----------------------------------------------------------------------------------------

struct ExtensionSegment {
    std::size_t id;
    std::size_t slotCount;
    std::intptr_t* slots;
};
struct ExtensionModule {
    std::uint16_t nvtxVersion;
    std::uint16_t structSize;
    std::uint16_t moduleId;
    std::uint16_t compatId;
    std::size_t segmentCount;
    ExtensionSegment* segments;
    std::intptr_t (*getExportFunction)(std::uint32_t);
    const void* info;
};
inline constexpr std::uint16_t kPayloadModule = 2;
enum PayloadSlot : std::size_t {
    kSchemaRegister = 0,
    kEnumRegister = 1,
    kMarkPayload = 2,
    kRangePushPayload = 3,
    kRangePopPayload = 4,
    kRangeStartPayload = 5,
    kRangeEndPayload = 6,
};

struct PayloadData {
    std::uint64_t schema;
    std::size_t size;
    const void* payload;
};
struct SchemaEntry {
    std::uint64_t flags;
    std::uint64_t type;
    const char* name;
    const char* description;
    std::uint64_t arrayOrUnion;
    std::uint64_t offset;
    const void* semantics;
    const void* reserved;
};
enum SchemaField : std::uint64_t { kSchemaName = 2, kSchemaSize = 64, kSchemaId = 256 };
struct SchemaAttributes {
    std::uint64_t fieldMask;
    const char* name;
    std::uint64_t type;
    std::uint64_t flags;
    const SchemaEntry* entries;
    std::size_t entryCount;
    std::size_t payloadSize;
    std::size_t packAlign;
    std::uint64_t schemaId;
    void* extension;
};

} // namespace fourwalls::collect::module::nvtx
