// SPDX-License-Identifier: Apache-2.0
// Runs nsys in a process group of its own, with its words in a file beside the output.
#include "model/import/nsight/nsight_report.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

namespace fourwalls::importers {

namespace {

std::string lastLine(const std::string& path)
{
    std::ifstream in(path);
    std::string line, last;
    while (std::getline(in, line))
        if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
    return last;
}

/// Starts `nsys`; gives an error number.
int start(std::vector<std::string> arguments, const std::string& words, pid_t& process)
{
    std::vector<char*> argv;
    argv.reserve(arguments.size() + 1);
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, words.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
    // Its children end with it, too.
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    const int failed = posix_spawnp(&process, argv[0], &files, &attributes, argv.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return failed;
}

Error notInstalled(const std::string& report)
{
    return Error{ErrorCode::Unsupported,
                 "an Nsight Systems report, which only nsys reads, and nsys is not installed here", report,
                 "where it is, run: nsys export --type sqlite '" + std::filesystem::path(report).filename().string() +
                     "' and give the .sqlite file"};
}

} // namespace

bool isNsightReport(std::string_view name)
{
    return name.ends_with(".nsys-rep") || name.ends_with(".qdrep");
}

Status exportNsightReport(const std::string& report, const std::string& output, const std::stop_token& stop)
{
    const std::string words = output + ".txt";
    pid_t process = 0;
    const int failed = start({"nsys", "export", "--type", "sqlite", "--force-overwrite", "true", "--output", output,
                              std::filesystem::absolute(report).string()},
                             words, process);
    if (failed == ENOENT || failed == EACCES) return notInstalled(report);
    if (failed != 0)
        return Error{ErrorCode::Io, std::string("nsys cannot be started: ") + std::strerror(failed), report, ""};
    int status = 0;
    bool cancelled = false;
    for (;;) {
        const pid_t ended = ::waitpid(process, &status, WNOHANG);
        if (ended == process || (ended < 0 && errno != EINTR)) break;
        if (stop.stop_requested() && !cancelled) {
            cancelled = true;
            ::kill(-process, SIGKILL);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    if (cancelled) return Error{ErrorCode::Cancelled, "cancelled", report, ""};
    std::error_code error;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && std::filesystem::is_regular_file(output, error)) return {};
    // How POSIX lets posix_spawn say that there is no such program, where it cannot say so itself.
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127) return notInstalled(report);
    const std::string said = lastLine(words);
    return Error{ErrorCode::Format, "nsys cannot export this report" + (said.empty() ? std::string() : ": " + said),
                 report, "an nsys of the version that recorded it, or a newer one, reads it"};
}

} // namespace fourwalls::importers
