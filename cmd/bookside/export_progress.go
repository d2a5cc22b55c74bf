package main

import (
	"io"
	"strings"
	"unicode/utf8"
)

// progressLine is a line on a terminal that is overwritten repeatedly.
type progressLine struct {
	w     io.Writer
	shown int // characters
}

// newProgressLine returns a line that appears only on a terminal.
func newProgressLine(w io.Writer) *progressLine {
	if !isTerminal(w) {
		return &progressLine{}
	}
	return &progressLine{w: w}
}

func (l *progressLine) clear() {
	if l.shown > 0 {
		l.write("")
		_, _ = io.WriteString(l.w, "\r")
	}
}

func (l *progressLine) write(text string) {
	if l.w == nil {
		return
	}
	length := utf8.RuneCountInString(text)
	_, _ = io.WriteString(l.w, "\r"+text+strings.Repeat(" ", max(0, l.shown-length))) // if this fails, the result remains
	l.shown = length
}
