// SPDX-License-Identifier: Apache-2.0
// `bench generate`: a synthetic trace of a given size.
#include "app/cli/output_file.h"
#include "app/cli/stop_signals.h"
#include "app/cli/verbs.h"
#include "model/base/format.h"
#include "model/store/synthetic_trace.h"

#include <chrono>
#include <filesystem>

namespace fourwalls::cli {

namespace {

class BenchVerb : public Verb {
public:
    const char* name() const override { return "bench"; }
    const char* summary() const override { return "material for scale tests"; }
    const char* examples() const override
    {
        return "  fourwalls-cli bench generate --slices 10000000 --ranks 8 -o big.fourwalls";
    }
    Arguments arguments() override
    {
        return {Argument("WHAT", &m_what, "generate: write a synthetic trace").required().oneOf({"generate"}),
                {"--slices", &m_options.slices, "about this many slices"},
                {"--ranks", &m_options.ranks, "so many ranks"},
                {"--seed", &m_options.seed, "equal seeds give equal traces"},
                Argument("-o,--output", &m_output, "the trace to write").required()};
    }

    int run(Console& console) override
    {
        if (m_options.slices < 1) return console.wrongUsage(tooSmall("--slices"));
        if (m_options.ranks < 1) return console.wrongUsage(tooSmall("--ranks"));
        auto output = PendingOutput::create(m_output, OutputKind::Trace);
        if (!output) return console.fail(output.error());
        const StopSignals signals; // so that an interrupted one leaves nothing behind
        const auto begin = std::chrono::steady_clock::now();
        Progress progress("generating");
        const Status written = store::generateSynthetic(
            m_options, output->temporaryPath(), [&progress](double fraction) { progress(fraction); }, signals.token());
        if (!written.ok()) return console.fail(written.error());
        const Status placed = output->commit();
        if (!placed.ok()) return console.fail(placed.error());
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
        std::error_code ignored;
        const auto bytes = static_cast<double>(std::filesystem::file_size(m_output, ignored));
        if (console.json())
            return console.answerJson(nlohmann::json{{"file", m_output},
                                                     {"slices_asked", m_options.slices},
                                                     {"ranks", m_options.ranks},
                                                     {"bytes", static_cast<std::int64_t>(bytes)},
                                                     {"seconds", seconds.count()}});
        return console.answerText(m_output + ": " + formatBytes(bytes) + " in " +
                                  formatTime(Duration::fromSeconds(seconds.count())));
    }

private:
    static Error tooSmall(const std::string& option)
    {
        return {ErrorCode::InvalidArgument, "must be at least 1", option, option + " 8"};
    }

    store::SyntheticOptions m_options;
    std::string m_what, m_output;
};

} // namespace

std::unique_ptr<Verb> makeBenchVerb()
{
    return std::make_unique<BenchVerb>();
}

} // namespace fourwalls::cli
