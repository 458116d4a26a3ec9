// SPDX-License-Identifier: GPL-3.0-or-later
// See gain_line.h.
#include "views/whatif/gain_line.h"

#include "views/whatif/replayer.h"

#include <QStringList>

#include <utility>

namespace fourwalls::views {

GainLine::GainLine(QWidget* parent) : ElidedText(Tone::Quiet, Qt::AlignLeft, parent)
{
    setMostLines(2);
    hide();
}

void GainLine::setReplayer(Replayer* replayer)
{
    if (m_replayer == replayer) return;
    if (m_replayer) m_replayer->disconnect(this);
    m_replayer = replayer;
    if (replayer) {
        connect(replayer, &Replayer::gainsChanged, this, &GainLine::refresh);
        connect(replayer, &Replayer::offersKnown, this, &GainLine::refresh);
    }
    refresh();
}

void GainLine::ask(std::vector<AskedGain> asked)
{
    if (asked == m_asked) return;
    m_asked = std::move(asked);
    setVisible(m_replayer && !m_asked.empty());
    refresh();
}

void GainLine::ask(const std::vector<replay::GainSubject>& subjects)
{
    std::vector<AskedGain> asked;
    for (const replay::GainSubject& subject : subjects) asked.push_back(AskedGain::of(subject));
    ask(std::move(asked));
}

void GainLine::retranslate()
{
    for (AskedGain& each : m_asked) each.what = AskedGain::of(each.change).what;
    refresh();
}

bool GainLine::isPending() const
{
    return m_isPending && isVisible();
}

void GainLine::showEvent(QShowEvent* event)
{
    ElidedText::showEvent(event);
    refresh();
}

void GainLine::refresh()
{
    setVisible(m_replayer && !m_asked.empty());
    if (!m_replayer || !isVisible()) return; // a line that nobody sees asks nothing
    m_isPending = false;
    setText(tr("What would this gain? %1").arg(answer()));
    emit changed();
}

QString GainLine::answer()
{
    if (const QString why = whyNoReplay(*m_replayer); !why.isEmpty()) return tr("It cannot be said: %1").arg(why);
    QStringList parts;
    for (const AskedGain& each : m_asked) {
        const ReplayGain* gain = m_replayer->gain(each.change);
        m_isPending = m_isPending || !gain;
        if (gain) parts << each.what + QStringLiteral(": ") + gainText(*gain, each.most);
    }
    if (m_isPending) parts << QStringLiteral("…");
    if (const QString error = replayErrorText(*m_replayer); !error.isEmpty()) parts << error;
    return parts.join(QStringLiteral(" · "));
}

} // namespace fourwalls::views
