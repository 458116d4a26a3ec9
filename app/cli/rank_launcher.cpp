// SPDX-License-Identifier: Apache-2.0
// See rank_launcher.h. The ranks get a process group of their own, so that Ctrl-C reaches them once: from here. They
// end with this process, however it ends.
#include "app/cli/rank_launcher.h"

#include "app/cli/child_program.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fourwalls::cli {

namespace {

constexpr const char* kVariables[] = {
    "RANK=", "WORLD_SIZE=", "LOCAL_RANK=", "MASTER_ADDR=", "MASTER_PORT=", kJobVariable};

std::vector<std::string> ownArguments()
{
    std::ifstream file("/proc/self/cmdline", std::ios::binary);
    const std::string all{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    std::vector<std::string> arguments;
    for (std::size_t at = 0; at < all.size();) {
        arguments.emplace_back(all.c_str() + at);
        at += arguments.back().size() + 1;
    }
    return arguments;
}

// A port that nobody has at the moment.
int freePort()
{
    const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    int port = 0;
    if (descriptor >= 0 && bind(descriptor, reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
        getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) == 0)
        port = ntohs(address.sin_port);
    if (descriptor >= 0) close(descriptor);
    return port;
}

std::string firstLine(int descriptor)
{
    std::array<char, 4096> text{};
    const ssize_t size = pread(descriptor, text.data(), text.size(), 0);
    const std::string_view all(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
    return std::string(all.substr(0, all.find('\n')));
}

struct Child {
    int rank = 0;
    int complaints = -1; // what it says on standard error, kept in memory
    bool ended = false;  // its process id may be another's by now
};

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kFinishing{10}; // what a rank may take to finish its file, beyond the timeout
constexpr std::chrono::milliseconds kLook{50};

// Whether a process was stopped by a signal, or by a debugger.
bool isStopped(pid_t process)
{
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const std::size_t name = text.rfind(')'); // a name may contain anything
    return name != std::string::npos && name + 2 < text.size() && (text[name + 2] == 'T' || text[name + 2] == 't');
}

using Children = std::map<pid_t, Child>;

/// The environment of this process, without what tells a rank from the others.
std::vector<std::string> sharedEnvironment()
{
    std::vector<std::string> inherited;
    for (char** variable = environ; *variable; ++variable) {
        bool own = false;
        for (const char* name : kVariables) own = own || std::strncmp(*variable, name, std::strlen(name)) == 0;
        if (!own) inherited.emplace_back(*variable);
    }
    return inherited;
}

/// Starts this program once more, as `rank`. Errors: Io.
Status startRank(Children& children, int rank, std::vector<std::string> arguments, std::vector<std::string> environment)
{
    const pid_t parent = getpid();
    const std::vector<char*> argv = execPointers(arguments), envp = execPointers(environment);
    const int complaints = rank == 0 ? -1 : memfd_create("complaints", MFD_CLOEXEC);
    const int nowhere = rank == 0 ? -1 : open("/dev/null", O_WRONLY | O_CLOEXEC);
    const pid_t child = fork();
    if (child == 0) { // nothing but system calls until the program is replaced
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        setpgid(0, 0);
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, nullptr);
        if (getppid() != parent) _exit(kExitCouldNot);
        if (complaints >= 0) dup2(complaints, STDERR_FILENO);
        if (nowhere >= 0) dup2(nowhere, STDOUT_FILENO);
        execve("/proc/self/exe", argv.data(), envp.data());
        _exit(127);
    }
    const int reason = errno;
    if (nowhere >= 0) close(nowhere);
    if (child < 0)
        return Error{ErrorCode::Io, fmt::format("rank {} cannot be started: {}", rank, std::strerror(reason)), "ranks",
                     "fewer ranks"};
    children[child] = {rank, complaints};
    return {};
}

/// The ranks that run, until the last one has ended.
class RunningRanks {
public:
    RunningRanks(Children& children, std::chrono::milliseconds timeout) : m_children(children), m_timeout(timeout) {}

    void tellAll(int signal)
    {
        const std::lock_guard lock(m_telling);
        for (const auto& [child, about] : m_children)
            if (!about.ended) kill(child, signal);
    }

    RanksEnded await()
    {
        for (std::size_t left = m_children.size(); left > 0;) {
            const bool looks = m_failedAt || m_firstEndedAt;
            siginfo_t info{};
            if (waitid(P_ALL, 0, &info, WEXITED | WNOWAIT | (looks ? WNOHANG : 0)) != 0) {
                if (errno == EINTR) continue;
                break;
            }
            if (info.si_pid == 0) {
                killFrozen();
                std::this_thread::sleep_for(kLook);
                continue;
            }
            const std::lock_guard lock(m_telling);
            const auto found = m_children.find(info.si_pid);
            if (found != m_children.end()) {
                noteEnd(found->second, info);
                --left;
            }
            waitpid(info.si_pid, nullptr, 0);
        }
        return m_ended;
    }

private:
    void killFrozen()
    {
        const auto passed = [now = Clock::now(), this](const auto& since) {
            return since && now - *since > m_timeout + kFinishing;
        };
        const std::lock_guard lock(m_telling);
        for (const auto& [child, about] : m_children)
            if (!about.ended && (passed(m_firstEndedAt) || (passed(m_failedAt) && isStopped(child))))
                kill(child, SIGKILL);
    }

    void noteEnd(Child& child, const siginfo_t& info)
    {
        const bool exited = info.si_code == CLD_EXITED, failed = !exited || info.si_status != 0;
        m_ended.isKilled = m_ended.isKilled || !exited;
        if (child.rank == 0) {
            m_firstEndedAt = Clock::now();
            m_ended.firstKilled = !exited;
            m_ended.exitCode = exited ? info.si_status : kExitCouldNot;
        } else if (m_ended.complaint.empty() && failed) {
            m_ended.complaint = firstLine(child.complaints);
        }
        if (failed && !m_failedAt) m_failedAt = Clock::now();
        child.ended = true;
    }

    Children& m_children;
    std::chrono::milliseconds m_timeout;
    std::mutex m_telling; // a process id is not used again before it is waited for, which happens under this lock
    std::optional<Clock::time_point> m_failedAt, m_firstEndedAt;
    RanksEnded m_ended;
};

} // namespace

Result<RanksEnded> launchRanks(int world, std::chrono::milliseconds timeout, const std::stop_token& stop,
                               const std::string& job)
{
    const std::vector<std::string> arguments = ownArguments();
    const int port = freePort();
    if (arguments.empty() || port == 0)
        return Error{ErrorCode::Io, "this system does not say how this program was started, or has no free port",
                     "ranks", "torchrun, srun or mpirun"};
    const std::vector<std::string> inherited = sharedEnvironment();
    Children children;
    Status started;
    for (int rank = 0; rank < world && started.ok(); ++rank) {
        std::vector<std::string> environment = inherited;
        const std::string values[] = {std::to_string(rank), std::to_string(world), std::to_string(rank), "127.0.0.1",
                                      std::to_string(port)};
        for (std::size_t i = 0; i < std::size(values); ++i) environment.push_back(kVariables[i] + values[i]);
        if (!job.empty()) environment.push_back(kJobVariable + job);
        started = startRank(children, rank, arguments, environment);
    }
    RunningRanks ranks(children, timeout);
    if (!started.ok()) ranks.tellAll(SIGKILL);
    RanksEnded ended;
    {
        const std::stop_callback asked(stop, [&ranks] { ranks.tellAll(SIGTERM); });
        ended = ranks.await();
    }
    for (const auto& [child, about] : children)
        if (about.complaints >= 0) close(about.complaints);
    if (!started.ok()) return started.error();
    return ended;
}

} // namespace fourwalls::cli
