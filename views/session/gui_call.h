// SPDX-License-Identifier: GPL-3.0-or-later
// Work for other threads, and the way back to the GUI thread. Qt hands jobs and events over under locks of its own that
// the thread sanitizer cannot see; here it is told, so that what it says of the window's threads can be believed.
#pragma once

#include <QPointer>
#include <QThreadPool>

#include <functional>
#include <memory>
#include <type_traits>

namespace fourwalls::views {

/// Runs `call` on the GUI thread, in the order of asking, unless `receiver` is gone by then. From any thread. With a low
/// priority it comes after what is to be painted.
void callOnGuiThread(const QPointer<QObject>& receiver, std::function<void()> call,
                     Qt::EventPriority priority = Qt::NormalEventPriority);

/// Runs `work` on a thread of the pool.
void startOn(QThreadPool& pool, std::function<void()> work);

/// Runs `work` on a thread of the pool and hands what it returns to `done` on the GUI thread, unless `receiver` is gone by
/// then.
template <class Work, class Done>
void runLater(QObject* receiver, Work work, Done done, QThreadPool& pool = *QThreadPool::globalInstance())
{
    startOn(pool, [guard = QPointer<QObject>(receiver), work = std::move(work), done = std::move(done)] {
        const auto result = std::make_shared<const std::invoke_result_t<const Work&>>(work());
        callOnGuiThread(guard, [done, result] { done(*result); });
    });
}

} // namespace fourwalls::views
