( function () {
	'use strict';

	/* Uses the older way to copy where the newer one is missing or forbidden. */
	function copy( input ) {
		input.select();
		if ( navigator.clipboard ) {
			return navigator.clipboard.writeText( input.value ).catch( function () {
				document.execCommand( 'copy' );
			} );
		}
		document.execCommand( 'copy' );
		return Promise.resolve();
	}

	document.addEventListener( 'click', function ( event ) {
		var button = event.target.closest( '[data-bookside-copy]' );
		if ( ! button ) {
			return;
		}
		copy( document.getElementById( button.dataset.booksideCopy ) ).then( function () {
			button.firstChild.textContent = window.bookside.copied;
			window.wp.a11y.speak( window.bookside.copied );
		} );
	} );

	document.addEventListener( 'change', function ( event ) {
		if ( event.target.id !== 'bookside-preset' ) {
			return;
		}
		var option = event.target.selectedOptions[ 0 ];
		var permissions = ( option.dataset.permissions || '' ).split( ',' );
		document.querySelectorAll( 'input[name="permissions[]"]' ).forEach( function ( box ) {
			box.checked = permissions.indexOf( box.value ) >= 0;
		} );
	} );

	/* Requests the API's address on the site from this browser, to test whether it leads anywhere. */
	var probe = document.querySelector( '[data-bookside-probe]' );
	if ( probe ) {
		window.fetch( probe.dataset.booksideProbe, { method: 'HEAD', credentials: 'omit' } ).then( function ( response ) {
			probe.textContent = response.ok ? probe.dataset.booksideGood : probe.dataset.booksideBad;
			probe.classList.toggle( 'bookside-error', ! response.ok );
		} ).catch( function () {
			probe.classList.add( 'bookside-error' );
		} );
	}

	var focus = document.querySelector( '[data-bookside-focus]' );
	if ( focus ) {
		focus.focus();
	}
}() );
