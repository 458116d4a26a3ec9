// SPDX-License-Identifier: Apache-2.0
// See unknown_format.h.
#include "model/import/unknown_format.h"

#include "model/base/ascii.h"
#include "model/import/common/import_format.h"

#include <algorithm>

namespace fourwalls::importers {

namespace {

/// Protocol buffers whose first field is a message, as those of Perfetto and XLA: no text, though it begins with a line
/// break.
bool looksLikeProtobuf(std::string_view beginning)
{
    if (beginning.empty() || beginning[0] != '\n') return false;
    return std::any_of(beginning.begin() + 1, beginning.end(), [](char c) {
        return static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\r' && c != '\t';
    });
}

/// "Fourwalls spool, Ascend database, …", for who has another file.
std::string namesOfFormats()
{
    std::string names;
    for (const ImportFormat& format : importFormats()) {
        if (format.vague) continue; // named among the others
        if (!names.empty()) names += ", ";
        names += format.name;
    }
    return names;
}

} // namespace

Error unknownFormat(const std::string& path, std::string_view beginning)
{
    using namespace std::string_view_literals;
    constexpr std::size_t kTagLength = 20;
    constexpr std::size_t kSafetensors = 8; // the length of its JSON stands before it
    const auto begins = [&](std::string_view with) { return beginning.substr(0, with.size()) == with; };
    Error error{ErrorCode::Unsupported, "none of the formats that can be imported", path,
                "give one of: " + namesOfFormats() +
                    "; of a log in another form, say what its lines hold: --log-line REGEX"};
    if (beginning.empty()) {
        error = {ErrorCode::Format, "the file is empty", path, "record or copy it again"};
    } else if (begins("version https://git-lfs")) {
        error = {ErrorCode::Unsupported, "a Git LFS pointer, not the file itself", path, "fetch it with: git lfs pull"};
    } else if (begins("QDSTRM") || begins("NVPROF")) {
        error = {ErrorCode::Unsupported, "a recording of Nsight Systems or nvprof that was not finished", path,
                 "make a report of it with QdstrmImporter, or record again with nsys profile"};
    } else if (path.ends_with(".xplane.pb")) {
        error = {ErrorCode::Format, "not an XSpace profile, though it is named as one: it does not begin with a plane",
                 path, "copy it again, or record it again"};
    } else if (path.ends_with(".csv")) {
        error = {ErrorCode::Unsupported, "a table (CSV), not a trace", path,
                 "give the trace that it was made of: of Nsight Systems the report (or nsys export --type sqlite "
                 "REPORT.nsys-rep), of Ascend's profiler the trace_view.json beside it"};
    } else if (path.ends_with(".pftrace") || path.ends_with(".perfetto-trace") || looksLikeProtobuf(beginning)) {
        error = {ErrorCode::Unsupported, "a protobuf trace (as of Perfetto or XLA)", path, "export it as Chrome JSON"};
    } else if (begins("NVR\0"sv)) {
        error = {ErrorCode::Unsupported, "a report of Nsight Compute: counters of single kernels, no timeline", path,
                 "record the step with Nsight Systems: nsys profile --trace=cuda,nvtx PROGRAM"};
    } else if (path.ends_with(".safetensors") || (beginning.size() > kSafetensors && beginning[kSafetensors] == '{' &&
                                                  beginning.substr(kSafetensors - 2, 2) == "\0\0"sv)) {
        error = {ErrorCode::Unsupported, "a checkpoint (safetensors), which holds weights and no profile", path,
                 "record one: torch.profiler.profile, or fourwalls-cli record -- COMMAND"};
    } else if (begins("7z\xbc\xaf") || begins("Rar!")) {
        error = {ErrorCode::Unsupported, "an archive that is not read here (zip and tar are, also packed)", path,
                 "unpack it and give the folder"};
    } else if (begins("\x1f\x8b")) {
        error = {ErrorCode::Unsupported, "packed more than twice", path, "unpack it first"};
    } else if (begins("\xff\xfe") || begins("\xfe\xff") || begins("{\0"sv) || begins("\0{"sv) || begins("[\0"sv) ||
               begins("\0["sv)) {
        error = {ErrorCode::Unsupported, "text in UTF-16", path, "convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)"};
    } else if (const std::string_view text = withoutSpace(beginning); text.starts_with('<')) {
        const std::string start = lowerCase(text.substr(0, kTagLength));
        const auto holds = [text](std::string_view part) { return text.find(part) != std::string_view::npos; };
        const bool isPage = start.starts_with("<!doctype html") || start.starts_with("<html");
        error = {ErrorCode::Unsupported, isPage ? "a web page" : "a text with marks (XML, Markdown), not a trace", path,
                 isPage ? "give the profile or the memory snapshot that it shows; a memory timeline as JSON: "
                          "export_memory_timeline(\"timeline.json\")"
                        : error.hint};
        if (holds("<title>GPU Memory Timeline HTML</title>"))
            error = {ErrorCode::Unsupported, "a memory timeline of torch.profiler as a page: a picture without numbers",
                     path,
                     "write it again where it was recorded, as numbers: "
                     "prof.export_memory_timeline(\"timeline.json\", device=\"cuda:0\"), or \"timeline.raw.json.gz\""};
        else if (holds("MemoryViz.js"))
            error = {ErrorCode::Unsupported, "a page of PyTorch's memory viewer", path,
                     "give the snapshot that it was made of: torch.cuda.memory._dump_snapshot(\"snapshot.pickle\")"};
    }
    return error;
}

std::string_view withoutSpace(std::string_view text)
{
    if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);
    const auto first =
        std::find_if(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) > ' '; });
    return text.substr(static_cast<std::size_t>(first - text.begin()));
}

} // namespace fourwalls::importers
