// SPDX-License-Identifier: GPL-3.0-or-later
// A random user at the window, for as long as wanted, on the carried traces and on those that are given:
//   bench_random_user [--seconds N] [--seed S] [FILE.fourwalls…]     random things
//   bench_random_user --tour [--demo NAME]… [FILE.fourwalls…]        every page of every view, at four sizes
//   --pictures FOLDER: the window where each text was first found, 1.png for the first that is listed while it runs
// It ends with 1 at a crash, a warning of Qt or widgets over each other, and says what was done before. It prints the
// texts that are cut or lie on each other, and the events that took the window's thread over 100 ms of processor time.
#include "tests/app/gui/openers.h"
#include "tests/app/gui/random_user.h"
#include "tests/app/gui/window_tour.h"

#include <QFileInfo>
#include <QStandardPaths>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <utility>
#include <vector>

using namespace fourwalls;
using namespace fourwalls::gui;

namespace {

double threadMs()
{
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

/// Measures each event of the thread; what an event loop inside of one handles is that event's own.
class TimedApplication : public QApplication {
public:
    using QApplication::QApplication;

    bool notify(QObject* receiver, QEvent* event) override
    {
        const int level = QThread::currentThread()->loopLevel();
        if (m_level == level) return QApplication::notify(receiver, event); // sent by the event that is measured
        const int before = std::exchange(m_level, level);
        const double inner = std::exchange(m_inner, 0);
        const QString name =
            QLatin1String(receiver->metaObject()->className()) + QLatin1Char(' ') + receiver->objectName();
        const auto type = static_cast<int>(event->type());
        const double start = threadMs();
        const bool taken = QApplication::notify(receiver, event);
        const double all = threadMs() - start;
        note(all - m_inner, name, type);
        m_inner = inner + all;
        m_level = before;
        return taken;
    }

    void report() const
    {
        std::vector<double> sorted = m_times;
        std::ranges::sort(sorted);
        const auto at = [&](double share) {
            return sorted.empty() ? 0
                                  : sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
        };
        std::printf(
            "%zu events; processor time of one: median %.3f, p99 %.1f, p99.9 %.1f, most %.1f ms; %lld over 100 ms\n",
            sorted.size(), at(0.5), at(0.99), at(0.999), at(1), static_cast<long long>(m_slow.size()));
        for (const QString& slow : m_slow) std::printf("  %s\n", qPrintable(slow));
    }
    std::function<QString()> where;
    /// What is looked at is painted for that, all at once: none of it is the window's.
    void setLooking(bool looking) { m_looking = looking; }

private:
    void note(double ms, const QString& receiver, int type)
    {
        constexpr double kLong = 100;
        if (m_looking) return;
        m_times.push_back(ms);
        if (ms > kLong)
            m_slow << QStringLiteral("%1 ms: event %2 of %3, %4")
                          .arg(ms, 0, 'f', 0)
                          .arg(type)
                          .arg(receiver, where ? where() : QString());
    }

    bool m_looking = false;
    int m_level = -1;
    double m_inner = 0;
    std::vector<double> m_times;
    QStringList m_slow;
};

/// What was found in the layout, each once, with the first places.
class Findings {
public:
    /// folder: for pictures; empty: none.
    explicit Findings(QString folder) : m_folder(std::move(folder)) {}
    void add(QWidget& window, const QString& where)
    {
        for (const QString& problem : tests::layoutProblems(window)) {
            QStringList& places = m_found[problem];
            places << where;
            if (places.size() > 1 || m_folder.isEmpty()) continue;
            const auto number = static_cast<long long>(m_found.size());
            window.grab().save(QStringLiteral("%1/%2.png").arg(m_folder).arg(number));
            std::printf("%lld.png: %s, %s\n", number, qPrintable(problem), qPrintable(where));
            std::fflush(stdout);
        }
    }
    void print() const
    {
        constexpr int kPlaces = 3;
        for (auto it = m_found.begin(); it != m_found.end(); ++it)
            std::printf("%s\n    %lld: %s\n", qPrintable(it.key()), static_cast<long long>(it->size()),
                        qPrintable(it->mid(0, kPlaces).join(QStringLiteral("; "))));
        std::printf("%lld findings in the layout\n", static_cast<long long>(m_found.size()));
    }

private:
    QString m_folder;
    QMap<QString, QStringList> m_found;
};

int randomly(TimedApplication& application, quint32 seed, double seconds, const QStringList& traces,
             const QString& pictures)
{
    Findings findings(pictures);
    const double end = threadMs() + seconds * 1e3;
    int actions = 0;
    for (; threadMs() < end; ++seed) {
        gui::test::RandomUser user(seed, traces);
        application.where = [&] { return user.lastActions().section(QLatin1Char('\n'), -1); };
        user.setLook([&](MainWindow& window) {
            application.setLooking(true);
            findings.add(window, QStringLiteral("%1 %2x%3 %4")
                                     .arg(window.currentViewId())
                                     .arg(window.width())
                                     .arg(window.height())
                                     .arg(currentLanguage()));
            application.setLooking(false);
        });
        constexpr int kActions = 1000; // then another person
        for (int i = 0; i < kActions && threadMs() < end; ++i, ++actions) {
            const QString problem = user.act();
            if (problem.isEmpty()) continue;
            std::printf("%s\n", qPrintable(problem));
            return 1;
        }
        application.where = {};
    }
    std::printf("%d actions in %.0f s of the window's thread\n", actions, seconds);
    findings.print();
    application.report();
    return 0;
}

int tour(const QStringList& demos, const QStringList& traces, const QString& pictures)
{
    gui::test::TourPlan plan;
    plan.traces = traces;
    plan.demos = demos;
    plan.sizes = {QSize(800, 500), QSize(1280, 720), QSize(1920, 1080), QSize(3840, 2160)};
    plan.languages = QStringList{QStringLiteral("en"), QStringLiteral("zh_CN")};
    Findings findings(pictures);
    gui::test::WindowTour walk(tests::fileOpener(), plan);
    walk.setVisitor([&](QWidget& window, const QString& where) { findings.add(window, where); });
    walk.walk();
    findings.print();
    return 0;
}

} // namespace

int main(int argc, char** argv)
{
    qputenv("QT_QPA_PLATFORM", "offscreen");
    QStandardPaths::setTestModeEnabled(true);
    TimedApplication application(argc, argv);
    QCoreApplication::setAttribute(Qt::AA_Use96Dpi);
    const tests::FailOnWarning warnings;
    QStringList words = QCoreApplication::arguments().mid(1), demos, traces;
    QString pictures;
    double seconds = 60;
    quint32 seed = 1;
    bool isTour = false;
    while (!words.isEmpty()) {
        const QString word = words.takeFirst();
        const QString value = words.isEmpty() ? QString() : words.constFirst();
        if (word == QLatin1String("--tour"))
            isTour = true;
        else if (word == QLatin1String("--seconds"))
            seconds = value.toDouble();
        else if (word == QLatin1String("--seed"))
            seed = value.toUInt();
        else if (word == QLatin1String("--demo"))
            demos << value;
        else if (word == QLatin1String("--pictures"))
            pictures = value;
        else
            traces << QFileInfo(word).absoluteFilePath();
        if (word.startsWith(QLatin1String("--")) && word != QLatin1String("--tour") && !words.isEmpty())
            words.removeFirst();
    }
    applyLanguage(QStringLiteral("en"));
    applyTheme(false);
    return isTour ? tour(demos, traces, pictures) : randomly(application, seed, seconds, traces, pictures);
}
