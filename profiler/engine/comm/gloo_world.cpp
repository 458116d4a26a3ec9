// SPDX-License-Identifier: Apache-2.0
// See process_world.h and gloo_world.h.
#include "profiler/engine/comm/process_world.h"

#ifdef FOURWALLS_HAVE_GLOO

#include "profiler/engine/comm/frame_socket.h"
#include "profiler/engine/comm/gloo_transport.h"
#include "profiler/engine/comm/gloo_world.h"

#include <gloo/transport/address.h>
#include <gloo/transport/pair.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <csignal>

namespace fourwalls::engine {

namespace {

std::string rankName(RankId rank)
{
    return "rank " + std::to_string(rank.value);
}

// Longer than any step: who is gone is known sooner (MeetingPoint), so this ends only what two living ranks disagree on.
constexpr std::chrono::milliseconds kPatience = std::chrono::minutes(10);
// For the news of who is gone, when a connection breaks: the break is noticed first by whoever was using it.
constexpr std::chrono::milliseconds kNews = std::chrono::seconds(3);

// Gloo's texts begin with the place in its sources.
std::string plain(const char* text)
{
    const std::string all = text;
    const std::size_t end = all.starts_with('[') ? all.find("] ") : std::string::npos;
    return end == std::string::npos ? all : all.substr(end + 2);
}

} // namespace

Result<std::unique_ptr<ProcessWorld>> GlooWorld::join(const LaunchedRank& self, std::chrono::milliseconds timeout)
{
    std::signal(SIGPIPE, SIG_IGN); // a connection that broke is an error of the write, not the end of the process
    FOURWALLS_TRY_ASSIGN(auto meeting, MeetingPoint::join(self, timeout));
    std::unique_ptr<GlooWorld> world(new GlooWorld(std::move(meeting)));
    try {
        world->connect();
    } catch (const EngineError& error) {
        return error.error();
    } catch (const std::exception& error) {
        if (const auto lost = world->m_meeting->awaitLost(kNews)) return lost->error;
        const Error failed{ErrorCode::Io, "the ranks cannot be connected: " + plain(error.what()), "Gloo",
                           "a network on which the machines reach each other"};
        world->m_meeting->fail(failed);
        return failed;
    }
    world->m_postman = std::thread([w = world.get()] { w->postman(); });
    return std::unique_ptr<ProcessWorld>(std::move(world));
}

// Gloo's own way to connect all with all would wait for a lost rank until its timeout.
void GlooWorld::connect()
{
    ::gloo::transport::tcp::attr where;
    where.hostname = m_meeting->localAddress();
    const std::shared_ptr<::gloo::transport::Device> device = ::gloo::transport::tcp::CreateDevice(where);
    m_context = device->createContext(rank().value, size());
    // Gloo waits five times as long for a connection.
    m_context->setTimeout(
        std::max<std::chrono::milliseconds>(m_meeting->timeout() / 5, std::chrono::milliseconds(200)));
    const auto name = [](int rank) { return "gloo/" + std::to_string(rank); };
    FrameBody addresses; // one per rank that may connect; none for the own
    for (int peer = 0; peer < size(); ++peer) {
        const std::vector<char> address =
            peer == rank().value ? std::vector<char>() : m_context->createPair(peer)->address().bytes();
        addresses.add(std::string_view(address.data(), address.size()));
    }
    m_meeting->set(name(rank().value), addresses.text());
    // A connection that is closed here ends the wait for it below.
    m_meeting->onLost([this](const LostRank&) { giveUp(); });
    struct Quiet {
        MeetingPoint& meeting;
        ~Quiet() { meeting.onLost({}); }
    } const quiet{*m_meeting};
    for (int peer = 0; peer < size(); ++peer) {
        if (peer == rank().value) continue;
        const auto theirs = m_meeting->get(name(peer));
        if (!theirs) throw EngineError(theirs.error());
        FrameReader read(*theirs);
        std::string address = read.text();
        for (int before = 0; before < rank().value; ++before) address = read.text();
        m_context->getPair(peer)->connect({address.begin(), address.end()});
        if (const auto lost = m_meeting->lost()) throw EngineError(lost->error);
    }
}

GlooWorld::~GlooWorld()
{
    if (m_postman.joinable()) {
        {
            const std::lock_guard lock(m_letterMutex);
            m_closing = true;
            m_letterChanged.notify_all();
        }
        m_postman.join();
    }
    m_meeting->onLost({});
    m_context.reset();
}

std::unique_ptr<Transport> GlooWorld::transport(int group, std::vector<RankId> ranks, int index)
{
    return std::make_unique<GlooTransport>(*this, group, std::move(ranks), index);
}

void GlooWorld::watch(Failure* failure)
{
    m_failure = failure;
    if (!failure) return m_meeting->onLost({});
    failure->addWaker([this] { abortWaits(); });
    m_meeting->onLost([failure](const LostRank& lost) { failure->report(lost.rank, lost.error); });
}

void GlooWorld::giveUp()
{
    for (int peer = 0; peer < m_context->size; ++peer)
        if (peer != m_context->rank) m_context->getPair(peer)->close();
}

void GlooWorld::abortWaits()
{
    const std::lock_guard lock(m_mutex);
    for (UnboundBuffer* buffer : m_waiting) {
        buffer->abortWaitRecv();
        buffer->abortWaitSend();
    }
}

void GlooWorld::wait(UnboundBuffer& buffer, Way way, RankId peer)
{
    Failure* const failure = m_failure;
    {
        const std::lock_guard lock(m_mutex);
        m_waiting.insert(&buffer); // before looking: a failure from here on finds it
    }
    bool done = false;
    std::exception_ptr thrown;
    if (!failure || !failure->happened()) {
        try {
            done = way == Way::Send ? buffer.waitSend(kPatience) : buffer.waitRecv(kPatience);
        } catch (...) {
            thrown = std::current_exception();
        }
    }
    {
        const std::lock_guard lock(m_mutex);
        m_waiting.erase(&buffer);
    }
    if (done) return;
    if (failure) failure->throwIfHappened();
    try {
        if (thrown) std::rethrow_exception(thrown);
    } catch (const std::exception& error) {
        broken(peer, error);
    }
    throw EngineError(ErrorCode::Cancelled, "the wait for " + rankName(peer) + " was ended", "communication", "");
}

void GlooWorld::broken(RankId peer, const std::exception& error)
{
    if (const auto* own = dynamic_cast<const EngineError*>(&error)) throw *own;
    if (const auto lost = m_meeting->awaitLost(kNews)) throw EngineError(lost->error);
    throw EngineError(ErrorCode::Io, "the connection to " + rankName(peer) + " broke: " + plain(error.what()),
                      "communication", "the network between the machines");
}

void GlooWorld::sendLater(std::shared_ptr<Letter> letter)
{
    const std::lock_guard lock(m_letterMutex);
    m_letters.push_back(std::move(letter));
    m_letterChanged.notify_all();
}

void GlooWorld::awaitLetters(const std::deque<std::shared_ptr<Letter>>& letters)
{
    std::unique_lock lock(m_letterMutex);
    m_letterChanged.wait(lock, [&letters] {
        return std::all_of(letters.begin(), letters.end(), [](const auto& letter) { return letter->done.load(); });
    });
}

// Waits until letters have left, oldest first, so that their senders need not.
void GlooWorld::postman()
{
    while (true) {
        std::shared_ptr<Letter> letter;
        {
            std::unique_lock lock(m_letterMutex);
            m_letterChanged.wait(lock, [this] { return m_closing || !m_letters.empty(); });
            if (m_letters.empty()) return;
            letter = std::move(m_letters.front());
            m_letters.pop_front();
        }
        try {
            wait(*letter->message.head, Way::Send, letter->to);
            if (letter->message.bytes) wait(*letter->message.bytes, Way::Send, letter->to);
        } catch (const std::exception&) { // the rank hears of it when it next communicates
        }
        letter->message.bytes.reset();
        letter->message.head.reset();
        const std::lock_guard lock(m_letterMutex);
        letter->done.store(true, std::memory_order_release);
        m_letterChanged.notify_all();
    }
}

bool hasGloo()
{
    return true;
}

Result<std::unique_ptr<ProcessWorld>> joinGlooWorld(const LaunchedRank& self, std::chrono::milliseconds timeout)
{
    return GlooWorld::join(self, timeout);
}

} // namespace fourwalls::engine

#else

namespace fourwalls::engine {

bool hasGloo()
{
    return false;
}

Result<std::unique_ptr<ProcessWorld>> joinGlooWorld(const LaunchedRank&, std::chrono::milliseconds)
{
    return Error{ErrorCode::Unsupported, "this build has no Gloo", "--transport gloo",
                 "--transport local, or a build with Debian's libgloo-dev installed"};
}

} // namespace fourwalls::engine

#endif
