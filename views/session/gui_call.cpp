// SPDX-License-Identifier: GPL-3.0-or-later
// See gui_call.h.
#include "views/session/gui_call.h"

#include <QCoreApplication>
#include <QEvent>
#include <QRunnable>

#ifdef __SANITIZE_THREAD__
extern "C" void __tsan_acquire(void* address); // of the sanitizer's runtime
extern "C" void __tsan_release(void* address);
#endif

namespace fourwalls::views {

namespace {

/// What was written before `handOver` on one thread is there after `takeOver` of the same object on another one: Qt's
/// queues see to that, and the thread sanitizer is told.
void handOver([[maybe_unused]] void* object)
{
#ifdef __SANITIZE_THREAD__
    __tsan_release(object);
#endif
}

void takeOver([[maybe_unused]] void* object)
{
#ifdef __SANITIZE_THREAD__
    __tsan_acquire(object);
#endif
}

class Call : public QEvent {
public:
    Call(const QPointer<QObject>& receiver, std::function<void()> call)
        : QEvent(type())
        , m_receiver(receiver)
        , m_call(std::move(call))
    {}

    void run()
    {
        if (m_receiver) m_call();
    }

    static Type type()
    {
        static const int number = registerEventType();
        return static_cast<Type>(number);
    }

private:
    QPointer<QObject> m_receiver;
    std::function<void()> m_call;
};

class Mailbox : public QObject {
protected:
    void customEvent(QEvent* event) override
    {
        takeOver(event);
        static_cast<Call*>(event)->run();
    }
};

/// Lives as long as the program: calls may come until its last moment.
Mailbox& mailbox()
{
    static Mailbox* const box = [] {
        auto* made = new Mailbox;
        made->moveToThread(QCoreApplication::instance()->thread());
        return made;
    }();
    return *box;
}

class Job : public QRunnable {
public:
    explicit Job(std::function<void()> work) : m_work(std::move(work)) {}

    void run() override
    {
        takeOver(this);
        m_work();
    }

private:
    std::function<void()> m_work;
};

} // namespace

void callOnGuiThread(const QPointer<QObject>& receiver, std::function<void()> call, Qt::EventPriority priority)
{
    if (!QCoreApplication::instance()) return;
    auto* event = new Call(receiver, std::move(call));
    handOver(event);
    QCoreApplication::postEvent(&mailbox(), event, priority);
}

void startOn(QThreadPool& pool, std::function<void()> work)
{
    auto* job = new Job(std::move(work));
    handOver(job);
    pool.start(job);
}

} // namespace fourwalls::views
