// Package catalog reads agents, services, their categories and locations, and writes services.
//
// It may import notify and what notify may import.
package catalog
