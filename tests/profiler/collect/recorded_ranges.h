// SPDX-License-Identifier: Apache-2.0
// What recorded_program.cpp does with NVTX.
#pragma once

#include <cstdint>
#include <cstdio>
#include <nvtx3/nvToolsExt.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

inline nvtxEventAttributes_t noAttributes()
{
    nvtxEventAttributes_t attributes{};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    return attributes;
}

/// What a program with NVTX in it does: ranges, marks, names, payloads, and steps among them.
inline void nvtx()
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("model");
    nvtxStringHandle_t forward = nvtxDomainRegisterStringA(domain, "forward");
    nvtxNameOsThreadA(static_cast<std::uint32_t>(gettid()), "trainer");
    for (int n = 5; n < 8; ++n) {
        nvtxRangePushA(("iteration " + std::to_string(n)).c_str());
        nvtxEventAttributes_t attributes = noAttributes();
        attributes.category = 3;
        attributes.colorType = NVTX_COLOR_ARGB;
        attributes.color = 0xff00ff00;
        attributes.payloadType = NVTX_PAYLOAD_TYPE_INT32;
        attributes.payload.iValue = -n;
        attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
        attributes.message.registered = forward;
        nvtxDomainRangePushEx(domain, &attributes);
        nvtxDomainRangePop(domain);
        const nvtxRangeId_t range = nvtxRangeStartW(L"r\u00fcckw\u00e4rts");
        nvtxMarkA("loss");
        nvtxRangeEnd(range);
        nvtxRangePop();
    }
    nvtxDomainNameCategoryA(domain, 3, "compute");
}

/// What pushes and pops answer.
inline void nvtxLevels()
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("model");
    for (const int level : {nvtxRangePushA("a"), nvtxRangePushA("b"), nvtxDomainRangePushEx(domain, nullptr),
                            nvtxDomainRangePop(domain), nvtxRangePop(), nvtxRangePop(), nvtxRangePop()})
        std::printf("%d ", level);
}

/// Four threads mark as quickly as they can, each with its own numbers, while a fifth makes and names domains.
inline void nvtxThreads()
{
    std::vector<std::thread> threads;
    for (std::uint32_t t = 0; t < 4; ++t) {
        threads.emplace_back([t] {
            nvtxEventAttributes_t attributes = noAttributes();
            attributes.category = t;
            attributes.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT32;
            attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
            attributes.message.ascii = "mark";
            for (std::uint32_t i = 1; i <= 20'000; ++i) {
                attributes.payload.uiValue = i;
                nvtxMarkEx(&attributes);
            }
        });
    }
    threads.emplace_back([] {
        for (int i = 0; i < 100; ++i)
            nvtxDomainMarkEx(nvtxDomainCreateA(("domain " + std::to_string(i)).c_str()), nullptr);
    });
    for (std::thread& thread : threads) thread.join();
}

/// Steps as the hook in Python marks them: a range around the optimizer, which may run others and has ranges of its own.
/// work(n): forward and backward of a step.
template <class Work>
void optimizerSteps(int count, const Work& work)
{
    for (int n = 0; n < count; ++n) {
        work(n);
        nvtxRangePushA("Optimizer.step#Wrapped.step");
        nvtxRangePushA("gather");
        nvtxRangePop();
        nvtxRangePushA("Optimizer.step#SGD.step");
        nvtxRangePop();
        nvtxRangePop();
        nvtxRangePushA("Optimizer.step#OfAnotherNetwork.step");
        nvtxRangePop();
    }
}
